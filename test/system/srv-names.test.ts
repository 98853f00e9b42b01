import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ConfigView } from '../../src/model/sections.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { freePort } from '../fixtures/traffic.ts'
import { viewOf } from '../fixtures/view.ts'
import { until } from '../fixtures/until.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { DnsServer } from './dns-server.ts'
import { get, httpOrigin, keepAsking } from './haproxy-traffic.ts'

/** Real servers that share the answers for a name of SRV records, with the real HAProxy. */

const NAME = '_http._tcp.svc.test'

async function site(test: Test) {
  const dns = await DnsServer.start(test)
  const haproxy = haproxyFixture(test, () => ({ nameServers: [`127.0.0.1:${dns.port}`] }))
  const port = await freePort()
  const services = await Promise.all(
    ['a', 'b', 'c'].map(async (target) => {
      dns.names.set(`${target}.svc.test`, ['127.0.0.1'])
      return { target: `${target}.svc.test`, port: await httpOrigin(test, target), weight: 60_000 }
    }),
  )
  const config = (more: Parameters<typeof realServer>[1] = {}): ConfigView =>
    viewOf({
      realServers: [
        realServer('r1', { ip: NAME, port: null, ...more }),
        realServer('r2', { ip: NAME, port: null }),
        realServer('r3', { ip: NAME, port: null }),
      ],
      l7Frontends: [frontend('f', 'b', { ports: String(port) })],
      l7Backends: [
        backend('b', ['r1', 'r2', 'r3'], {
          healthCheck: { type: 'tcp', interval: 1, rise: 1 },
          persistence: { type: 'cookie' },
        }),
      ],
    })
  /** Returns the server that answers now. */
  const answering = async (): Promise<string> => {
    const seen = new Set<string>()
    for (let asked = 0; asked < 9; asked += 1) {
      const { status, body } = await get(port)
      seen.add(status === 200 ? body : String(status))
    }
    return [...seen].toSorted().join(' ')
  }
  const served = (wanted: string) => until(wanted, answering, (now) => now === wanted)
  const pid = async () => /^Pid: (\d+)$/m.exec(await haproxy.ask('@1 show info'))?.[1]
  const states = async () =>
    (await haproxy.ask('@1 show servers state b'))
      .split('\n')
      .flatMap((line) => (line.includes(NAME) ? [line.split(' ').slice(3, 8)] : []))
  return { ...haproxy, dns, services, config, served, answering, pid, port, states }
}

t.test('each takes one answer, and additions and removals need no reload', async (test) => {
  const { apply, config, dns, services, served, pid, states, driver, ask } = await site(test)
  const [a, b, c] = services
  if (a === undefined || b === undefined || c === undefined) throw new Error('three were made')
  dns.services.set(NAME, [a, b])
  test.match(await apply(undefined, config()), { ok: true })
  await served('a b')
  const worker = await pid()
  test.equal((await states()).filter(([, address]) => address === '-').length, 1, 'one is in reserve')
  dns.services.set(NAME, [a, b, c])
  await served('a b c')
  test.ok(
    (await states()).every((cells) => cells[4] === '100'),
    'weights are those of the records',
  )
  dns.services.set(NAME, [b, c])
  await served('b c')
  test.equal(await pid(), worker)
  const stat = await ask('@1 show stat')
  for (const one of [b, c]) test.match(stat, `,127.0.0.1:${one.port},`, 'where live answers show it')

  // Each is a real server of its own: whichever answer it has, it is drained and halted separately.
  let before = config()
  for (const more of [{ state: 'drained' }, { state: 'halted' }, { state: 'online' }, { weight: 7 }] as const) {
    test.match(await apply(before, config(more)), { ok: true }, JSON.stringify(more))
    before = config(more)
  }
  test.equal(await pid(), worker)
  const renamed = config({ ip: '_other._tcp.svc.test' })
  test.ok(driver.plan(before, renamed, { atLeast: 'runtime' }).some(({ kind }) => kind === 'unit'))
})

t.test('drained stays drained, whatever weight a record has; a reload keeps who has which answer', async (test) => {
  const { apply, config, dns, services, served, answering, port, states } = await site(test)
  dns.services.set(NAME, services)
  const drained = config({ state: 'drained' })
  test.match(await apply(undefined, drained), { ok: true })
  await until('addresses', states, (all) => all.every(([, address]) => address !== '-'))
  await until('two servers', answering, (now) => now.split(' ').length === 2)
  test.match(await apply(drained, config()), { ok: true })
  await served('a b c')
  for (const failure of ['silent', 'refuses'] as const) {
    // HAProxy 3.0 drops the state kept over the previous reload when the name was not answered by the last try.
    if (failure === 'refuses') await wait(6_000)
    for (const { target } of services) dns.names.set(target, failure)
    dns.names.set(NAME, failure)
    dns.services.clear()
    const traffic = keepAsking(port, 4)
    await traffic.until(100)
    test.match(await apply(undefined, config(), 'reload'), { ok: true })
    await traffic.until(1000)
    test.same((await traffic.stop()).failures, [], failure)
    test.equal(await answering(), 'a b c', failure)
  }
})
