import t, { type Test } from 'tap'
import type { HealthCheck } from '../../src/model/health-check.ts'
import type { ConfigView } from '../../src/model/sections.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { ownCheck } from '../fixtures/health-check.ts'
import { sandboxProblem } from '../fixtures/sandbox.ts'
import { freePort } from '../fixtures/traffic.ts'
import { viewOf } from '../fixtures/view.ts'
import { until } from '../fixtures/until.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { DnsServer } from './dns-server.ts'
import { get, keepAsking, origins } from './haproxy-traffic.ts'

/** Real servers that are found by name, with the real HAProxy and a name server whose answers change. */

const NAME = 'web.example.test'

async function site(test: Test) {
  const dns = await DnsServer.start(test)
  const nameServers = [`127.0.0.1:${dns.port}`]
  const haproxy = haproxyFixture(test, () => ({ nameServers }))
  const [port, originPort] = [await freePort(), await origins(test, ['127.0.0.2', '127.0.0.3'])]
  const config = (
    more: Parameters<typeof realServer>[1] = {},
    of: Parameters<typeof backend>[2] = {},
    healthChecks: readonly HealthCheck[] = [],
  ): ConfigView =>
    viewOf({
      healthChecks: [...healthChecks],
      realServers: [realServer('r1', { ip: NAME, port: originPort, ...more })],
      l7Frontends: [frontend('f', 'b', { ports: String(port) })],
      l7Backends: [backend('b', ['r1'], { healthCheck: { type: 'http', interval: 1 }, ...of })],
    })
  const answers = async (): Promise<string> => {
    const { status, body } = await get(port)
    return status === 200 ? body : String(status)
  }
  const answered = (wanted: string) => until(wanted, answers, (now) => now === wanted)
  const pid = async () => (await haproxy.ask('@1 show info')).match(/^Pid: (\d+)$/m)?.[1]
  return { ...haproxy, dns, port, config, answers, answered, pid }
}

t.test('a server follows the answers for its name without a reload', async (test) => {
  const { apply, config, dns, answered, pid, ask } = await site(test)
  dns.names.set(NAME, ['127.0.0.2', '2001:db8::1'])
  test.match(await apply(undefined, config()), { ok: true })
  await answered('127.0.0.2')
  const worker = await pid()
  dns.names.set(NAME, ['127.0.0.3'])
  await answered('127.0.0.3')
  dns.names.delete(NAME)
  await answered('503')
  test.match(
    await ask('@1 show stat'),
    /^b,r1,.*,MAINT \(resolution\),/m,
    'a name that no longer exists takes its server out',
  )
  dns.names.set(NAME, ['127.0.0.2'])
  await answered('127.0.0.2')
  test.equal(await pid(), worker)
})

t.test('HAProxy starts although no name server answers, and finds the server when one does', async (test) => {
  const { apply, config, dns, answers, answered, pid } = await site(test)
  dns.close()
  test.match(await apply(undefined, config()), { ok: true })
  test.equal(await answers(), '503')
  const worker = await pid()
  const back = await DnsServer.start(test, dns.port)
  back.names.set(NAME, ['127.0.0.3'])
  await answered('127.0.0.3')
  test.equal(await pid(), worker)
})

t.test('silent name servers take no server out, and neither does a reload meanwhile', async (test) => {
  const { apply, config, dns, answered, answers, ask, port } = await site(test)
  dns.names.set(NAME, ['127.0.0.3'])
  test.match(await apply(undefined, config()), { ok: true })
  await answered('127.0.0.3')
  for (const failure of ['silent', 'refuses'] as const) {
    dns.names.set(NAME, failure)
    const traffic = keepAsking(port, 4)
    await traffic.until(100)
    test.match(await apply(undefined, config(), 'reload'), { ok: true })
    await traffic.until(1000)
    test.same((await traffic.stop()).failures, [], failure)
    test.equal(await answers(), '127.0.0.3')
  }
  test.match(await ask('show proc'), /master +[2-9]/)
})

t.test('weight and state change without a reload, another name or port with one', async (test) => {
  const { apply, config, dns, answered, answers, pid, driver, ask } = await site(test)
  dns.names.set(NAME, ['127.0.0.2'])
  dns.names.set('other.example.test', ['127.0.0.3'])
  let before = config()
  test.match(await apply(undefined, before), { ok: true })
  await answered('127.0.0.2')
  const worker = await pid()
  for (const more of [{ weight: 3 }, { state: 'halted' }, { state: 'online' }, { state: 'drained' }] as const) {
    test.match(await apply(before, config(more)), { ok: true }, JSON.stringify(more))
    before = config(more)
  }
  test.equal(await pid(), worker)
  const renamed = config({ ip: 'other.example.test' })
  test.ok(driver.plan(before, renamed, { atLeast: 'runtime' }).some(({ kind }) => kind === 'unit'))
  test.match(await apply(before, renamed), { ok: true })
  await answered('127.0.0.3')
  test.not(await pid(), worker)
  const unknown = { ip: 'nobody.example.test' }
  test.match(await apply(renamed, config(unknown)), { ok: true })
  test.match(await apply(config(unknown), config({ ...unknown, state: 'halted' })), { ok: true })
  test.match(await apply(config({ ...unknown, state: 'halted' }), config(unknown)), { ok: true })
  test.equal(await answers(), '503')
  test.match(await ask('@1 show servers state'), / r1 - 0 32 /, 'an unresolved server can be halted')
})

t.test('a name of the system is resolved at the start, without a name server of ours', async (test) => {
  const { apply, config, answers, ask } = await site(test)
  test.match(await apply(undefined, config({ ip: 'localhost', resolve: 'start' })), { ok: true })
  test.match(await ask('@1 show servers state'), / r1 (127\.0\.0\.1|::1) /)
  const unknown = config({ ip: 'nothing.invalid', resolve: 'start' })
  test.match(await apply(undefined, unknown, 'reload'), { ok: true })
  test.equal(await answers(), '503', 'an unresolved server takes no traffic')
})

const skip = sandboxProblem()

t.test('a program that checks a server receives the address of its name', { skip }, async (test) => {
  const { apply, config, dns, answered, answers, ask } = await site(test)
  dns.names.set(NAME, ['127.0.0.2'])
  const script = '#!/bin/sh\n[ "$3" = 127.0.0.3 ]\n'
  const healthCheck = { type: 'script', id: 'own', interval: 1, rise: 1, fall: 1 } as const
  test.match(await apply(undefined, config({}, { healthCheck }, [ownCheck('own', { script })])), { ok: true })
  const isDown = async () => /^b,r1,.*,DOWN,/m.test(await ask('@1 show stat'))
  await until('a failed check', isDown)
  test.equal(await answers(), '503')
  dns.names.set(NAME, ['127.0.0.3'])
  await answered('127.0.0.3')
})
