import type { Command } from 'commander'
import { type Common, optionsOf, type Run, secondsIn } from '../command.ts'
import type { Connection } from '../connection.ts'
import { Failure, tellingOf } from '../failure.ts'
import { printable, table } from '../output.ts'

interface Node {
  readonly id: string
  readonly name: string
  readonly address: string
  readonly isSelf: boolean
  readonly state: 'online' | 'unreachable' | 'unknown'
  readonly isReady: boolean | null
  readonly maintenance: object | null
  readonly floatingIps: readonly string[]
}

interface Cluster {
  readonly name: string
  readonly quorum: boolean
  readonly halted: string | null
  readonly histories: object | null
  readonly nodes: readonly Node[]
  readonly witness: Pick<Node, 'id' | 'name' | 'address' | 'state'> | null
}

interface Preview {
  readonly name: string
  readonly nodes: readonly { readonly name: string }[]
  readonly brings: readonly { readonly resource: string; readonly name: string }[]
  readonly reachable: boolean
  readonly why?: string
}

/** Adds the commands for forming, joining and leaving a cluster. */
export function addCluster(program: Command, run: Run): void {
  const cluster = program.command('cluster').description('create and join a cluster, and manage its nodes')
  cluster
    .command('status')
    .description('show the nodes; exit code 0: ok, 1: a node is missing, 2: no changes possible, 3: unknown')
    .action((_options: unknown, command: Command) => status(run, optionsOf(command)))
  cluster
    .command('form')
    .description('create a cluster with this node as its first member; traffic is not affected')
    .argument('<name>', 'name of the cluster')
    .requiredOption('--address <host>', 'HOST or HOST:PORT at which other nodes reach this one')
    .option('--node-name <name>', 'name of this node in the cluster')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { address, nodeName, ...common } = optionsOf<Joining>(command)
      await act(run, common, 'POST', '/cluster', { name, address, ...named(nodeName) })
    })
  cluster
    .command('join-token')
    .description('create a token with which one node can join; it is shown only once')
    .option('--witness', 'for a witness: a third vote without configuration')
    .option('--valid <time>', 'validity of the token', '1h')
    .action((_options: unknown, command: Command) => issue(run, optionsOf(command)))
  cluster
    .command('join')
    .description('join a cluster; its configuration and users replace those of this node')
    .argument('<token>', 'output of join-token there; - reads standard input')
    .requiredOption('--address <host>', 'HOST or HOST:PORT at which other nodes reach this one')
    .option('--node-name <name>', 'name of this node in the cluster')
    .option('--as <id>', 'rejoin as this removed node')
    .option('--yes', 'do not ask for confirmation')
    .action((token: string, _options: unknown, command: Command) => join(run, token, optionsOf<Joining>(command)))
  addLeaving(cluster, run)
  addDeciding(cluster, run)
}

function addLeaving(cluster: Command, run: Run): void {
  cluster
    .command('leave')
    .description('make this node a single node again')
    .option('--force', 'even if the other nodes cannot be notified, or this is the last node')
    .option('--yes', 'do not ask for confirmation')
    .action((_options: unknown, command: Command) => leave(run, optionsOf<Leaving>(command)))
  cluster
    .command('remove')
    .description('remove another node or the witness; an unreachable one is locked out')
    .argument('<node>', 'name or id')
    .option('--yes', 'do not ask for confirmation')
    .action((name: string, _options: unknown, command: Command) => remove(run, name, optionsOf<Leaving>(command)))
  cluster
    .command('maintenance')
    .description('start or end maintenance of a node')
    .argument('<node>', 'name or id')
    .argument('<state>', 'on or off')
    .option('--reason <text>', 'reason, shown in the status')
    .action(async (name: string, state: string, _options: unknown, command: Command) => {
      if (state !== 'on' && state !== 'off') throw new Failure(`${state}: use on or off`)
      const { reason, ...common } = optionsOf<Common & { readonly reason?: string }>(command)
      const { id } = nodeNamed(await clusterOf(run.connect(common)), name)
      const body = { enabled: state === 'on', ...(reason === undefined ? {} : { reason }) }
      await act(run, common, 'PUT', `/cluster/nodes/${id}/maintenance`, body)
    })
}

/** Adds the commands for decisions that a person has to make if two nodes have no third vote. */
function addDeciding(cluster: Command, run: Run): void {
  cluster
    .command('takeover')
    .description('let this node go on alone because the other of two is off')
    .argument('<partner>', 'name or id of the other node')
    .requiredOption('--reason <text>', 'reason, stored with the takeover and in the audit log')
    .option('--force', 'even if the other node answers; its later changes are set aside')
    .option('--yes', 'do not ask for confirmation')
    .action((name: string, _options: unknown, command: Command) => takeOver(run, name, optionsOf<Deciding>(command)))
  cluster
    .command('resolve')
    .description('after both of two nodes went on alone, choose which one stays; the other one is saved to a file')
    .argument('<node>', 'name or id of the node that stays')
    .option('--yes', 'do not ask for confirmation')
    .action(async (name: string, _options: unknown, command: Command) => {
      const { yes, ...common } = optionsOf<Leaving>(command)
      const { id, name: shown } = nodeNamed(await clusterOf(run.connect(common)), name)
      await run.agree(`The configuration of ${printable(shown)} is kept, and the other node adopts it. Continue?`, yes)
      await act(run, common, 'PUT', '/cluster/resolve', { keep: id })
    })
}

interface Joining extends Common {
  readonly address: string
  readonly nodeName?: string
  readonly as?: string
  readonly yes?: boolean
}

interface Leaving extends Common {
  readonly force?: boolean
  readonly yes?: boolean
}

interface Deciding extends Leaving {
  readonly reason: string
}

const named = (nodeName: string | undefined) => (nodeName === undefined ? {} : { nodeName })

async function act(run: Run, common: Common, method: string, path: string, body?: object): Promise<void> {
  const { message } = await run.connect(common).ask(method, path, { body })
  if (common.json === true) run.json({ message })
  else run.terminal.out(`${printable(message)}.\n`)
}

const read = (connection: Connection) => connection.ask<Cluster | null>('GET', '/cluster')

async function clusterOf(connection: Connection): Promise<Cluster> {
  const { data } = await read(connection)
  if (data === null)
    throw new Failure('this node is not in a cluster; see fulcrum cluster form and fulcrum cluster join')
  return data
}

function nodeNamed({ nodes }: Cluster, name: string): Node {
  const found = nodes.find((node) => node.id === name || node.name.toLowerCase() === name.toLowerCase())
  if (found === undefined) throw new Failure(`there is no node ${name}: fulcrum cluster status`)
  return found
}

async function status(run: Run, common: Common): Promise<void> {
  const { data } = await tellingOf(() => read(run.connect(common)))
  const members = data === null ? [] : [...data.nodes, ...(data.witness === null ? [] : [data.witness])]
  const isWhole = members.every(({ state }) => state !== 'unreachable')
  run.exitCode = data !== null && stopped(data) !== undefined ? 2 : isWhole ? 0 : 1
  if (common.json === true) return run.json(data)
  if (data === null) return run.terminal.out('This node is not in a cluster.\n')
  const { name, nodes, witness } = data
  const rows = nodes.map((node) => ({
    node: node.name,
    address: node.address,
    state: stateOf(node),
    'floating ips': node.floatingIps.join(' '),
  }))
  if (witness !== null) {
    rows.push({ node: `${witness.name} (witness)`, address: witness.address, state: witness.state, 'floating ips': '' })
  }
  run.terminal.out(`${printable(name)}: ${stopped(data) ?? 'ok, changes are possible'}\n`)
  run.terminal.out(table(rows, ['node', 'address', 'state', 'floating ips'], run.terminal.columns))
}

/** Returns why changes are impossible; undefined if they are possible. */
function stopped({ quorum, histories, halted, nodes, witness }: Cluster): string | undefined {
  if (halted !== null) return `this node no longer follows it: ${printable(halted)}`
  if (histories !== null)
    return 'both nodes went on alone: nothing can be changed until you choose one: fulcrum cluster resolve NODE'
  if (quorum) return undefined
  const gone = nodes.find(({ state }) => state === 'unreachable')
  const isPair = witness === null && nodes.length === 2
  const way =
    isPair && gone !== undefined ? `; if ${printable(gone.name)} is certainly off: fulcrum cluster takeover` : ''
  return `too few nodes answer: nothing can be changed${way}`
}

function stateOf({ state, isReady, maintenance }: Node): string {
  if (state === 'online' && maintenance !== null) return 'maintenance'
  return state === 'online' && isReady === false ? 'not ready' : state
}

interface Issuing extends Common {
  readonly witness?: boolean
  readonly valid: string
}

async function issue(run: Run, { witness, valid, ...common }: Issuing): Promise<void> {
  const body = { role: witness === true ? 'witness' : 'node', validFor: secondsIn(valid) }
  const { data } = await run
    .connect(common)
    .ask<{ token: string; expiresAt: string }>('POST', '/cluster/tokens', { body })
  if (common.json === true) return run.json(data)
  run.terminal.err(`Valid for one ${body.role} until ${printable(data.expiresAt)}:\n`)
  run.terminal.out(`${printable(data.token)}\n`)
}

async function join(run: Run, given: string, { as, yes, nodeName, address, ...common }: Joining): Promise<void> {
  const connection = run.connect(common)
  const token = given === '-' ? (await run.terminal.input('the token')).trim() : given
  const body = { token, address, ...named(nodeName), ...(as === undefined ? {} : { as }) }
  const preview = await connection.ask<Preview>('POST', '/cluster/join', { body: { ...body, dryRun: true } })
  const { name, nodes, brings, reachable, why } = preview.data
  if (!reachable) throw new Failure(`the cluster cannot reach this node at ${address}: ${why ?? 'no reason given'}`)
  run.terminal.err(`${printable(name)}, of ${nodes.map((node) => printable(node.name)).join(', ')}.\n`)
  run.terminal.err(`Kept: ${brings.map((one) => printable(`${one.resource} ${one.name}`)).join(', ') || 'nothing'}.\n`)
  await run.agree('Everything else on this node is replaced, including its users. Join?', yes)
  await act(run, common, 'POST', '/cluster/join', body)
  // Root of this machine is root of the cluster as well, and has no login to renew.
  if (run.contextOf(common).token !== undefined)
    run.terminal.err(`Users and tokens are now those of the cluster: fulcrum login ${run.contextOf(common).url}\n`)
}

async function leave(run: Run, { force, yes, ...common }: Leaving): Promise<void> {
  const connection = run.connect(common)
  const self = (await clusterOf(connection)).nodes.find(({ isSelf }) => isSelf)
  if (self === undefined) throw new Failure('this node is no longer in the cluster')
  await run.agree('This node becomes a single node. Leave the cluster?', yes)
  await act(run, common, 'DELETE', `/cluster/nodes/${self.id}${force === true ? '?force=true' : ''}`)
}

async function remove(run: Run, name: string, { yes, ...common }: Leaving): Promise<void> {
  const cluster = await clusterOf(run.connect(common))
  const { witness } = cluster
  const isWitness = witness !== null && (witness.id === name || witness.name.toLowerCase() === name.toLowerCase())
  const { id, name: shown } = isWitness ? witness : nodeNamed(cluster, name)
  await run.agree(`This removes the node ${printable(shown)}. Continue?`, yes)
  await act(run, common, 'DELETE', `/cluster/nodes/${id}`)
}

async function takeOver(run: Run, name: string, { reason, force, yes, ...common }: Deciding): Promise<void> {
  const { name: partnerIsOff } = nodeNamed(await clusterOf(run.connect(common)), name)
  await run.agree(`This node goes on without ${printable(partnerIsOff)}, which must be off. Continue?`, yes)
  await act(run, common, 'PUT', '/cluster/takeover', { partnerIsOff, reason, ...(force === true ? { force } : {}) })
}
