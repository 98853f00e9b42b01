import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join as joinPath } from 'node:path'
import t, { type Test } from 'tap'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { sendCommand } from '../../workers/host/control-socket.ts'
import { type ClusterDaemon, ClusterDaemons, form, hostOf, join } from '../fixtures/cluster-daemons.ts'
import { allVote, die, idsOf, removes } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'
import { answerTo, clientsIn, greetedFrom, hasAsked, remotePeers, talksWith } from '../fixtures/table-sharing.ts'
import { freePort } from '../fixtures/traffic.ts'

/** Real daemons with a HAProxy and an etcd each, which come and go while clients stay with their servers. */

async function greeter(t: Test, name: string): Promise<number> {
  const server = createServer((socket) => socket.end(name)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

const asked = ({ daemon }: ClusterDaemon, command: string) =>
  sendCommand(joinPath(daemon.state, 'haproxy', 'master.sock'), `@1 ${command}`, 5_000)
/** Address on which its HAProxy shares stick tables. */
const sharedAt = (node: ClusterDaemon) => ({ host: hostOf(node.address), port: 9447 })
const haproxyOf = ({ daemon }: ClusterDaemon) => new ClusterFiles(daemon.state).haproxy
const configOf = ({ daemon }: ClusterDaemon) => readFileSync(joinPath(daemon.state, 'haproxy', 'haproxy.cfg'), 'utf8')
const pidOf = async (node: ClusterDaemon) => /^Pid: (\d+)$/m.exec(await asked(node, 'show info'))?.[1]

/** Resolves when each HAProxy shares tables with exactly those of the others. */
async function sharing(...nodes: readonly ClusterDaemon[]): Promise<void> {
  for (const node of nodes) {
    const others = idsOf(...nodes.filter((other) => other !== node))
      .toSorted()
      .join()
    const isWhole = (text: string) =>
      remotePeers(text).join() === others && talksWith(text).join() === others && hasAsked(text)
    await until(`those that ${node.daemon.node} shares with`, () => asked(node, 'show peers').catch(String), isWhole)
  }
}

/** A service on this node that remembers clients by address, and a way to read what the others know of them. */
async function shopOn(t: Test, first: ClusterDaemon) {
  const port = await freePort()
  const created = async (path: string, body: unknown) => (await first.daemon.data('POST', path, body)).id as string
  const reals = []
  for (const name of ['one', 'two']) {
    const ripId = await created('/ipvsDirector/rips', { name, ip: '127.0.0.1', port: await greeter(t, name) })
    reals.push({ ripId })
  }
  const common = { mode: 'tcp', name: 'shop' }
  const defaultBackendId = await created('/layer7proxy/backends', { ...common, persistence: { type: 'ip' }, reals })
  await created('/layer7proxy/frontends', { ...common, ip: '127.0.0.1', ports: String(port), defaultBackendId })
  await first.daemon.data('PUT', '/services/apply')
  const knownTo = async (node: ClusterDaemon) => clientsIn(await asked(node, `show table ${defaultBackendId}`))
  return {
    knownTo,
    ask: (node: ClusterDaemon, last: number) => greetedFrom(`127.88.0.${last}`, { host: hostOf(node.address), port }),
    learned: (node: ClusterDaemon, last: number) =>
      until(
        `a client at ${node.daemon.node}`,
        () => knownTo(node),
        (known) => known.has(`127.88.0.${last}`),
      ),
  }
}

t.test('nodes whose HAProxies share their stick tables', async (t) => {
  const daemons = await ClusterDaemons.begin(t, { isBeside: true })
  if (typeof daemons === 'string') {
    t.pass(`# SKIP ${daemons}`)
    return
  }
  const [first, second, third] = [await daemons.start(), await daemons.start(), await daemons.start()]
  const { ask, knownTo, learned } = await shopOn(t, first)

  await t.test('a single node shares with no other', (t) => {
    t.match(configOf(first), /localpeer fulcrum\n/)
    t.match(configOf(first), /bind unix@/)
    t.end()
  })

  await form(first, 'left')
  await first.daemon.login()
  t.equal((await join(second, 'right', first)).status, 200)
  await allVote(first, 2)
  await sharing(first, second)

  await t.test('a client stays with its real server, whichever node it connects to', async (t) => {
    for (const last of [1, 2, 3, 4]) {
      const server = await ask(first, last)
      await learned(second, last)
      t.equal(await ask(second, last), server)
    }
    t.same(new Set((await knownTo(second)).values()).size, 2, 'not all with the same server')
  })

  await t.test('the key is used for this alone', (t) => {
    const { client, peer } = new ClusterFiles(second.daemon.state).certificates()
    const files = ['node.peers', 'nodes.peers'].map((name) =>
      readFileSync(joinPath(second.daemon.state, 'haproxy', 'fulcrum-certs', name), 'utf8'),
    )
    for (const { key, certificate } of [client, peer]) {
      t.notOk(files.some((text) => text.includes(key) || text.includes(certificate)))
    }
    t.notOk(configOf(second).includes('PRIVATE'))
    t.notOk((first.daemon.stderr + second.daemon.stderr).includes('PRIVATE'))
    t.end()
  })

  await sharing(first, second)
  const before = [await pidOf(second), configOf(second)]
  await second.daemon.kill('SIGKILL')
  const right = await daemons.again(second, second.address)
  await allVote(first, 2)

  await t.test('a restart of the daemon leaves HAProxy alone', async (t) => {
    t.same([await pidOf(right), configOf(right)], before)
  })

  await t.test('nodes that come, move and leave', (t) => changes(t, { daemons, first, right, third, ask, learned }))
})

interface Shop extends Pick<Awaited<ReturnType<typeof shopOn>>, 'ask' | 'learned'> {
  readonly daemons: ClusterDaemons
  readonly first: ClusterDaemon
  readonly right: ClusterDaemon
  /** In no cluster yet. */
  readonly third: ClusterDaemon
}

async function changes(t: Test, { daemons, first, third, ask, learned, ...known }: Shop): Promise<void> {
  let { right } = known
  await t.test('a joining node learns what the others know', async () => {
    await join(third, 'third', first)
    await allVote(first, 3)
    await sharing(first, right, third)
    for (const last of [1, 2, 3, 4]) await learned(third, last)
  })

  await t.test('a moved node is found at its new address', async (t) => {
    const address = daemons.address(4)
    await first.daemon.data('PUT', `/cluster/nodes/${right.daemon.node}`, { address })
    await right.daemon.kill('SIGTERM')
    right = await daemons.again(right, address)
    await allVote(first, 3)
    await sharing(first, right, third)
    t.equal(await answerTo(sharedAt(right), right.daemon.node, first.daemon.node, haproxyOf(first)), '200')
  })

  await t.test('a removed node is no longer listened to, whatever it has', async (t) => {
    const stolen = haproxyOf(third)
    const [to, from] = idsOf(first, third)
    t.equal(await answerTo(sharedAt(first), to ?? '', from ?? '', stolen), '200')
    await die(third)
    t.ok(await removes(first, third))
    await sharing(first, right)
    t.equal(await answerTo(sharedAt(first), to ?? '', from ?? '', stolen), '')
  })

  await t.test('a node that leaves keeps what it knows, alone', async (t) => {
    await right.daemon.login()
    t.ok(await removes(right, right))
    await until(
      'a file of its own',
      async () => configOf(right),
      (text) => text.includes('localpeer fulcrum\n'),
    )
    await sharing(first)
    t.equal(haproxyOf(right), undefined)
    t.match(await ask(right, 1), /one|two/)
  })
}
