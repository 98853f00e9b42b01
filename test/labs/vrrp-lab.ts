import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { nameBasedId } from '../../src/base/ids.ts'
import { READY, STATES_FOLDER } from '../../src/drivers/vrrp/paths.ts'
import { findProgram } from '../../workers/host/programs.ts'
import { frontend } from '../fixtures/config.ts'
import type { Records } from '../fixtures/view.ts'
import { killIfAlive } from '../fixtures/kill.ts'
import { until } from '../fixtures/until.ts'
import { cable, namespace, type Namespace, namespaceObstacle } from '../system/network-namespace.ts'

/** Nodes of a cluster in their own namespaces, on one bridge with a client: keepalived and HAProxy are real. */

export const FLOATING = ['10.0.0.100', 'fd00::100'] as const
const NODE = fileURLToPath(new URL('vrrp-node.ts', import.meta.url))
const CLIENT = fileURLToPath(new URL('vrrp-client.ts', import.meta.url))
const CLIENT_MAC = '02:00:00:00:00:fe'
/** Address of no interface. */
const WRONG_MAC = '02:00:00:00:00:99'
/** Folders of the machine that each node has for itself. */
const OWN = ['/etc/keepalived', '/etc/sysctl.d'] as const

export async function vrrpObstacle(): Promise<string | undefined> {
  for (const program of ['keepalived', 'haproxy', 'chrt', 'unshare'])
    if ((await findProgram(program)) === undefined) return `${program} is not installed`
  return await namespaceObstacle()
}

type Ending = Pick<Test, 'teardown'>

function ended(child: ChildProcess): Promise<unknown> {
  return child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve()
}

/** Starts a program, which ends with the test. */
function started(test: Ending, argv: readonly string[]): ChildProcess {
  const [program = '', ...args] = argv
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => undefined)
  child.stderr.resume()
  test.teardown(async () => {
    child.kill('SIGKILL')
    await ended(child)
  })
  return child
}

/** The records of every node. */
export function site(nodes: readonly LabNode[], floating: readonly string[] = FLOATING): Records {
  const group = (id: string, networkIp: string, networkMask: number) => ({
    id,
    name: id,
    networkIp,
    networkMask,
    gateway: '',
    defaultGateway: false,
    // Both have the same, which keepalived distinguishes by family.
    vrrpId: 1,
    assignedInterfaces: nodes.map(({ id: nodeId, interfaceId }) => ({ nodeId, interfaceId })),
  })
  const address = (groupId: string, beginning: string) =>
    nodes.map(({ id: nodeId }, at) => ({
      id: `${groupId}-${nodeId}`,
      nodeId,
      groupId,
      ip: `${beginning}${11 + at}`,
      externalPingCheck: false,
    }))
  const groupOf = (ip: string) => (ip.includes(':') ? 'lan6' : 'lan4')
  return {
    ipGroups: [group('lan4', '10.0.0.0', 24), group('lan6', 'fd00::', 64)],
    staticIps: [...address('lan4', '10.0.0.'), ...address('lan6', 'fd00::')],
    floatingIps: floating.map((ip, at) => ({ id: `fip-${at}`, ip, groupId: groupOf(ip), enabled: true })),
    l7Frontends: [frontend('fe', null)],
  }
}

export class LabNode {
  readonly id: string
  readonly mac: string
  readonly interfaceId: string
  readonly folder: string
  readonly #test: Ending
  readonly #space: Namespace
  readonly #port: { readonly name: string; readonly bridge: Namespace }
  readonly #enter: readonly string[]
  haproxy: ChildProcess | undefined
  daemon: ChildProcess | undefined
  #answers: AsyncIterator<string> | undefined

  constructor(
    test: Ending,
    id: string,
    parts: { space: Namespace; bridge: Namespace; port: string; mac: string; pid: number; folder: string },
  ) {
    this.id = id
    this.mac = parts.mac
    this.interfaceId = nameBasedId(`interface mac ${parts.mac}`)
    this.folder = parts.folder
    this.#test = test
    this.#space = parts.space
    this.#port = { name: parts.port, bridge: parts.bridge }
    this.#enter = ['nsenter', `--mount=/proc/${parts.pid}/ns/mnt`, `--net=/proc/${parts.pid}/ns/net`]
  }

  start(argv: readonly string[]): ChildProcess {
    return started(this.#test, [...this.#enter, ...argv])
  }

  /** Adds its own addresses, which no daemon sets here. */
  async prepare(addresses: readonly string[]): Promise<void> {
    for (const address of addresses) await this.#space.output('ip', 'address', 'add', address, 'dev', 'eth0')
    await this.#space.output('sysctl', '-qw', 'net.ipv4.ip_nonlocal_bind=1', 'net.ipv6.ip_nonlocal_bind=1')
  }

  startHaproxy(): void {
    this.haproxy = this.start([
      'haproxy',
      '-W',
      '-S',
      '/run/haproxy-master.sock',
      '-p',
      '/run/haproxy.pid',
      '-f',
      join(this.folder, 'haproxy.cfg'),
    ])
  }

  async killHaproxy(): Promise<void> {
    this.haproxy?.kill('SIGKILL')
    if (this.haproxy !== undefined) await ended(this.haproxy)
  }

  startDaemon(nodeIds: readonly string[]): void {
    const told = JSON.stringify({ nodeId: this.id, nodeIds, folder: join(this.folder, 'machine') })
    const child = this.start([process.execPath, '--no-warnings', NODE, told])
    this.daemon = child
    if (child.stdout === null) throw new Error('it has no output')
    this.#answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    this.#test.teardown(async () => {
      if (child.exitCode !== null) return
      child.kill('SIGCONT')
      child.stdin?.write(`${JSON.stringify({ command: 'end' })}\n`)
      await ended(child)
    })
  }

  /** Resolves when the command is done. */
  async tell(command: string, more: object = {}): Promise<void> {
    this.daemon?.stdin?.write(`${JSON.stringify({ command, ...more })}\n`)
    for (;;) {
      const { value, done } = (await this.#answers?.next()) ?? { value: '', done: true }
      if (done === true) throw new Error(`${this.id} has ended`)
      const said = JSON.parse(value)
      if (said.failed !== undefined) throw new Error(said.failed)
      if (said.done === command) return
    }
  }

  /** The floating IPs that it has. */
  async holds(): Promise<readonly string[]> {
    const [link] = JSON.parse(await this.#space.output('ip', '-j', 'address', 'show', 'dev', 'eth0'))
    const own: readonly string[] = link.addr_info.map(({ local }: { local: string }) => local)
    return own.filter((ip) => FLOATING.some((floating) => floating === ip))
  }

  async #read(...paths: readonly string[]): Promise<string> {
    const { stdout } = this.start(['cat', ...paths])
    let text = ''
    for await (const chunk of stdout ?? []) text += String(chunk)
    return text
  }

  /** Resolves when its daemon says that it can serve, and its keepalived has had the time to notice. */
  async untilReady(): Promise<void> {
    await until('readiness', async () => (await this.#read(`${STATES_FOLDER}/${READY}`)).trim() === '0')
    await sleep(3_000)
  }

  /** Kills the first process of keepalived for VRRP and its child. */
  async killKeepalived(): Promise<void> {
    const text = await this.#read('/run/fulcrum-vrrp/keepalived.pid', '/run/fulcrum-vrrp/keepalived-vrrp.pid')
    for (const pid of text.trim().split('\n')) killIfAlive(Number(pid))
  }

  /** Cuts it off without its network interface noticing. */
  async cut(): Promise<void> {
    await this.#port.bridge.ip(`link set ${this.#port.name} nomaster`)
  }
  async heal(): Promise<void> {
    await this.#port.bridge.ip(`link set ${this.#port.name} master br0`)
  }
  /** Pulls or plugs in its cable. */
  async link(state: 'up' | 'down'): Promise<void> {
    await this.#port.bridge.ip(`link set ${this.#port.name} ${state}`)
  }
}

export interface Lab {
  readonly nodes: readonly LabNode[]
  readonly nodeIds: readonly string[]
  /** Resolves when these floating IPs are on this node and on no other. */
  untilOn(node: LabNode, floating?: readonly string[]): Promise<void>
  /** Makes the client believe that a missing machine has all floating IPs. */
  mislead(): Promise<void>
  /** Resolves when it knows this node as their holder, without sending a request for them. */
  untilKnown(node: LabNode): Promise<void>
  /** Sends HTTP requests all the time while `work` runs; returns the longest time without an answer. */
  gap(every_ms: number, work: () => Promise<void>): Promise<{ readonly longest_ms: number; readonly answers: number }>
}

const HAPROXY = `global
  fd-hard-limit 1024
defaults
  mode http
  timeout client 5s
frontend fe
  bind 10.0.0.100:80
  bind fd00::100:80
  http-request return status 200
`

export async function vrrpLab(test: Ending, count = 2): Promise<Lab> {
  const bridge = await namespace(test, 'bridge')
  // By default it has the address of one of its ports, and another one when that port is cut off.
  await bridge.ip(
    `link add br0 address ${CLIENT_MAC} type bridge`,
    'link set br0 up',
    'address add 10.0.0.1/24 dev br0',
  )
  await bridge.ip6('address add fd00::1/64 dev br0 nodad')
  const nodes: LabNode[] = []
  for (let at = 0; at < count; at++) {
    const space = await namespace(test, `node${at}`)
    const { macA: mac } = await cable(space, 'eth0', bridge, `p${at}`, at + 1)
    await bridge.ip(`link set p${at} master br0`)
    const folder = mkdtempSync(join(tmpdir(), 'vrrp-node-'))
    test.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const binds = OWN.map((own, n) => {
      mkdirSync(join(folder, `own${n}`))
      return `mount --bind ${folder}/own${n} ${own}`
    })
    writeFileSync(join(folder, 'haproxy.cfg'), HAPROXY)
    const script = [
      'mount -t tmpfs tmpfs /run',
      'mkdir /run/fulcrum-vrrp',
      ...binds,
      'echo made',
      'exec sleep infinity',
    ]
    const init = started(test, [
      'nsenter',
      `--net=/run/netns/${space.name}`,
      'unshare',
      '--mount',
      'sh',
      '-ec',
      script.join('\n'),
    ])
    if (init.stdout === null || init.pid === undefined) throw new Error('no namespace')
    await once(init.stdout, 'data')
    nodes.push(new LabNode(test, `node-${at}`, { space, bridge, port: `p${at}`, mac, pid: init.pid, folder }))
  }
  return {
    nodes,
    nodeIds: nodes.map(({ id }) => id),
    async untilOn(node, floating = FLOATING) {
      const wanted = nodes.map((one) => (one === node ? floating.toSorted().join() : ''))
      const held = () => Promise.all(nodes.map(async (one) => (await one.holds()).toSorted().join()))
      await until(`floating IPs of ${node.id}`, held, (now) => now.every((own, at) => own === wanted[at]))
    },
    async mislead() {
      const [ip4, ip6] = FLOATING.map((ip) => `neighbour replace ${ip} lladdr ${WRONG_MAC} dev br0 nud reachable`)
      await bridge.ip(ip4 ?? '')
      await bridge.ip6(ip6 ?? '')
    },
    async untilKnown(node) {
      const known = async (): Promise<readonly { readonly dst: string; readonly lladdr?: string }[]> =>
        JSON.parse(await bridge.output('ip', '-j', 'neighbour', 'show', 'dev', 'br0'))
      const isHeld = (all: Awaited<ReturnType<typeof known>>, ip: string) =>
        all.some(({ dst, lladdr }) => dst === ip && lladdr === node.mac)
      await until(`${node.id} in the neighbour table`, known, (all) => FLOATING.every((ip) => isHeld(all, ip)))
    },
    async gap(every_ms, work) {
      const url = `http://${FLOATING[0]}/`
      const argv = [process.execPath, '--no-warnings', CLIENT, url, String(every_ms)]
      const client = started(test, ['nsenter', `--net=/run/netns/${bridge.name}`, ...argv])
      if (client.stdout === null) throw new Error('it has no output')
      const lines = createInterface({ input: client.stdout })[Symbol.asyncIterator]()
      await lines.next()
      await work()
      client.stdin?.end()
      return JSON.parse((await lines.next()).value)
    },
  }
}

/** Everything runs, and the first node has the addresses. */
export async function servingLab(test: Ending, count = 2): Promise<Lab> {
  const lab = await vrrpLab(test, count)
  const records = site(lab.nodes)
  for (const node of lab.nodes) {
    node.startDaemon(lab.nodeIds)
    await node.tell('converge', { records })
    node.startHaproxy()
  }
  for (const node of lab.nodes) {
    await node.tell('start')
    if (node === lab.nodes[0]) await lab.untilOn(node)
  }
  return lab
}
