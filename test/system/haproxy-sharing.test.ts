import { once } from 'node:events'
import { chmodSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newNamedKey, type NamedKey } from '../../src/cluster/authority.ts'
import { limitsOf } from '../../src/drivers/haproxy/l7-rules.ts'
import type { Sharing } from '../../src/drivers/haproxy/sharing.ts'
import type { Rule } from '../../src/model/l7-rules.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { killIfAlive } from '../fixtures/kill.ts'
import { until } from '../fixtures/until.ts'
import { answerTo, clientsIn, greetedFrom, hasAsked, talksWith } from '../fixtures/table-sharing.ts'
import { freePort, ownLoopback } from '../fixtures/traffic.ts'
import { viewOf } from '../src/drivers/haproxy/records.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { gone } from './serving-daemon.ts'

/** Two HAProxys that share a stick table, as those of two nodes do, and a separate one. */

async function greeter(t: Test, name: string): Promise<number> {
  const server = createServer((socket) => socket.end(name)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('the other node knows what one has learned', async (t) => {
  const [a, b] = [ownLoopback(), ownLoopback()]
  const port = await freePort()
  const shown = { a: await newNamedKey('c', 'a', Date.now()), b: await newNamedKey('c', 'b', Date.now()) }
  const stranger = await newNamedKey('c', 'b', Date.now())
  const sharingOf = (self: 'a' | 'b', keys: Readonly<Record<'a' | 'b', NamedKey>>): Sharing => ({
    self,
    ip: { a, b }[self],
    port,
    own: `${keys[self].certificate}${keys[self].key}`,
    named: `${keys.a.certificate}${keys.b.certificate}`,
    others: [self === 'a' ? { id: 'b', ip: b, port } : { id: 'a', ip: a, port }],
  })
  const sharing: Record<'a' | 'b', Sharing> = { a: sharingOf('a', shown), b: sharingOf('b', shown) }
  const nodes = {
    a: haproxyFixture(t, () => ({ sharing: sharing.a })),
    b: haproxyFixture(t, () => ({ sharing: sharing.b })),
  }
  const realServers = [
    realServer('r1', { port: await greeter(t, 'r1') }),
    realServer('r2', { port: await greeter(t, 'r2') }),
  ]
  const [service, limited] = [await freePort(), await freePort()]
  const rules: Rule[] = [{ do: { type: 'limit', per: 'source', rate: 1, over: 3600, burst: 1 } }]
  const viewAt = (ip: string, timeoutServer = 30) =>
    viewOf({
      realServers,
      l7Frontends: [
        frontend('f', 'k', { mode: 'tcp', ip, ports: String(service) }),
        frontend('g', null, { ip, ports: String(limited), rules }),
      ],
      l7Backends: [
        backend('k', ['r1', 'r2'], { mode: 'tcp', persistence: { type: 'ip', timeout: 600 }, timeoutServer }),
      ],
    })
  const knownTo = async (node: 'a' | 'b') => clientsIn(await nodes[node].ask('@1 show table k'))
  const learned = (node: 'a' | 'b', client: string) =>
    until(
      `${client} at ${node}`,
      () => knownTo(node),
      (known) => known.has(client),
    )
  const knowing = (node: 'a' | 'b', clients: number) =>
    until(
      `${clients} clients at ${node}`,
      () => knownTo(node),
      ({ size }) => size === clients,
    )
  const client = (last: number) => `127.88.0.${last}`
  const ask = (ip: string, last: number) => greetedFrom(client(last), { host: ip, port: service })

  t.match(await nodes.a.apply(undefined, viewAt(a)), { ok: true })
  t.match(await nodes.b.apply(undefined, viewAt(b)), { ok: true })
  const peersOf = (node: 'a' | 'b') => () => nodes[node].ask('@1 show peers')
  await until('each other', peersOf('a'), (text) => talksWith(text).join() === 'b')

  await t.test('a client stays with its real server, whichever node it connects to', async (t) => {
    for (const last of [1, 2, 3]) {
      const server = await ask(a, last)
      await learned('b', client(last))
      t.equal(await ask(b, last), server)
      t.equal(await ask(b, last), server)
    }
    const servers = new Set((await knownTo('b')).values())
    t.same(servers, new Set(['r1', 'r2']))
  })

  await t.test('a limit that is reached on one node is reached on the other', async (t) => {
    const statusAt = async (host: string) => {
      const [answer] = await once(get({ host, port: limited, agent: false }), 'response')
      answer.resume()
      return Number(answer.statusCode)
    }
    const asked = [await statusAt(a), await statusAt(a), await statusAt(a)]
    t.equal(asked.at(-1), 429, asked.join())
    const [{ name } = { name: '' }] = limitsOf({ id: 'g', rules })
    const counted = async (node: 'a' | 'b') =>
      Number(/gpc0_rate\(\d+\)=(\d+)/.exec(await nodes[node].ask(`@1 show table ${name}`))?.[1] ?? 0)
    const all = await counted('a')
    await until(
      'what the other one has counted',
      () => counted('b'),
      (count) => count === all,
    )
    t.equal(await statusAt(b), 429)
  })

  await t.test('a stranger is not listened to', async (t) => {
    const at = { host: a, port }
    t.equal(await answerTo(at, 'a', 'b', shown.b), '200', 'a node is listened to')
    t.equal(await answerTo(at, 'a', 'b', undefined), '')
    t.equal(await answerTo(at, 'a', 'b', 'plain'), '')
    t.equal(await answerTo(at, 'a', 'b', stranger), '', 'the right names in an unlisted certificate')
  })

  await t.test('a reload keeps the table, also without a peer', async (t) => {
    const before = await knownTo('a')
    // A HAProxy that may still learn does not teach: in the first seconds after a cold start.
    for (const node of ['a', 'b'] as const) await until('nothing to learn', peersOf(node), hasAsked)
    await nodes.b.host.unit('layer7proxy', 'stop', 10_000)
    t.match(await nodes.a.apply(viewAt(a), viewAt(a, 31)), { ok: true })
    await knowing('a', before.size)
    t.same(await knownTo('a'), before)
    t.match(await nodes.b.apply(undefined, viewAt(b), 'restart'), { ok: true })
    await knowing('b', before.size)
    t.same(await knownTo('b'), before, 'and the other has it again')
  })

  await t.test('a killed HAProxy gets it back', async (t) => {
    const before = await knownTo('a')
    const worker = Number(/^Pid: (\d+)$/m.exec(await nodes.b.ask('@1 show info'))?.[1])
    const both = [Number(readFileSync(join(nodes.b.folder, 'haproxy.pid'), 'utf8')), worker]
    for (const pid of both) killIfAlive(pid)
    for (const pid of both) await gone(pid)
    await ask(a, 4)
    t.match(await nodes.b.apply(undefined, viewAt(b)), { ok: true })
    await knowing('b', before.size + 1)
    t.ok((await knownTo('b')).has(client(1)) && (await knownTo('b')).has(client(4)))
  })

  await t.test('an entry deleted on one node stays on the other, and is learned again from there', async (t) => {
    const table = '@1 clear table k key ::ffff:'
    await nodes.b.ask(`${table}${client(1)}`)
    t.notOk((await knownTo('b')).has(client(1)))
    t.ok((await knownTo('a')).has(client(1)), 'HAProxy shares what it learns, not what it forgets')
    const server = await ask(a, 1)
    await learned('b', client(1))
    t.equal(await ask(b, 1), server)
  })

  await t.test('a node that is no longer listed is locked out by a reload', async (t) => {
    const again = { ...shown, b: await newNamedKey('c', 'b', Date.now()) }
    sharing.a = sharingOf('a', again)
    t.match(await nodes.a.apply(undefined, viewAt(a)), { ok: true })
    t.equal(await answerTo({ host: a, port }, 'a', 'b', shown.b), '')
    t.equal(await answerTo({ host: a, port }, 'a', 'b', again.b), '200')
    sharing.b = sharingOf('b', again)
    t.match(await nodes.b.apply(undefined, viewAt(b)), { ok: true })
    await ask(a, 5)
    await learned('b', client(5))
  })

  await t.test('an address that is missing does not stop HAProxy', async (t) => {
    sharing.b = { ...sharing.b, ip: '192.0.2.77' }
    t.match(await nodes.b.apply(undefined, viewAt(b)), { ok: true })
    t.match(await ask(b, 5), /r[12]/)
  })
})

const ACCOUNT = { user: 'haproxy', group: 'haproxy' } as const
const skip =
  process.getuid?.() !== 0
    ? 'needs root'
    : !/^haproxy:/m.test(readFileSync('/etc/passwd', 'utf8')) && 'there is no account haproxy'

t.test('workers under their own account keep their table over a reload', { skip }, async (t) => {
  const node = haproxyFixture(t, undefined, { runAs: ACCOUNT })
  chmodSync(node.folder, 0o755)
  const realServers = [
    realServer('r1', { port: await greeter(t, 'r1') }),
    realServer('r2', { port: await greeter(t, 'r2') }),
  ]
  const ports = await freePort()
  const viewWith = (timeoutServer: number) =>
    viewOf({
      realServers,
      l7Frontends: [frontend('f', 'k', { mode: 'tcp', ports: String(ports) })],
      l7Backends: [
        backend('k', ['r1', 'r2'], { mode: 'tcp', persistence: { type: 'ip', timeout: 600 }, timeoutServer }),
      ],
    })
  t.match(await node.apply(undefined, viewWith(30)), { ok: true })
  const known = async () => clientsIn(await node.ask('@1 show table k'))
  for (const last of [1, 2]) await greetedFrom(`127.88.0.${last}`, { host: '127.0.0.1', port: ports })
  const before = await known()
  t.equal(before.size, 2)
  await until('nothing to learn', () => node.ask('@1 show peers'), hasAsked)
  t.match(await node.apply(viewWith(30), viewWith(31)), { ok: true })
  await until(
    'the new worker',
    () => known(),
    ({ size }) => size === before.size,
  )
  t.same(await known(), before)
})
