import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import type { ConfigView } from '../../src/model/sections.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { viewOf } from '../src/drivers/haproxy/records.ts'
import { hang } from '../fixtures/hang.ts'
import { freePort } from '../fixtures/traffic.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { conversation, echoOrigin, get, httpOrigin, keepAsking } from './haproxy-traffic.ts'

t.test('reloads and runtime changes fail no new connection', async (t) => {
  const { apply, applyLikeTheEngine, driver, ask } = haproxyFixture(t)
  const ports = [await httpOrigin(t, 'one'), await httpOrigin(t, 'two'), await httpOrigin(t, 'three')]
  const port = await freePort()
  const config = (step: number): ConfigView => {
    const realServers = ports.map((origin, index) =>
      realServer(`r${index}`, {
        port: origin,
        weight: 1 + (step % 7),
        state: index === 1 && step % 4 === 1 ? 'halted' : index === 1 && step % 4 === 3 ? 'drained' : 'online',
      }),
    )
    const members = step % 4 === 2 ? ['r0', 'r1', 'r2'] : ['r0', 'r1']
    const timeoutServer = 30 + Math.floor(step / 5)
    const l7Backends = [backend('b', members, { timeoutServer, healthCheck: { type: 'http' } })]
    return viewOf({ realServers, l7Frontends: [frontend('f', 'b', { ports: String(port) })], l7Backends })
  }
  t.match(await apply(undefined, config(0)), { ok: true })
  const traffic = keepAsking(port, 8)
  const kinds = new Set<string>()
  for (let step = 1; step <= 20; step++) {
    await traffic.until(step * 100)
    for (const { kind } of driver.plan(config(step - 1), config(step), { atLeast: 'runtime' })) kinds.add(kind)
    t.match(await applyLikeTheEngine(config(step - 1), config(step)), { ok: true }, `step ${step}`)
  }
  await traffic.until(2200)
  const { asked, failures } = await traffic.stop()
  t.strictSame(failures, [], `${asked} connections`)
  t.ok(asked >= 2000)
  t.ok(kinds.has('unit') && kinds.has('socket'), 'changes of both kinds')
  t.match(await ask('show proc'), /master +[4-9]/, 'several reloads')
})

t.test('a port in use: the reason is reported and traffic continues', async (t) => {
  const { apply, driver, host, ask } = haproxyFixture(t)
  const realServers = [realServer('r1', { port: await httpOrigin(t, 'one') })]
  const port = await freePort()
  const before = {
    realServers,
    l7Frontends: [frontend('f', 'b', { ports: String(port) })],
    l7Backends: [backend('b', ['r1'])],
  }
  t.match(await apply(undefined, viewOf(before)), { ok: true })
  const worker = (await ask('@1 show info')).match(/^Pid: (\d+)$/m)?.[1]
  const traffic = keepAsking(port, 4)
  await traffic.until(200)

  const stranger = createServer().listen(0, '127.0.0.1')
  await once(stranger, 'listening')
  t.teardown(() => stranger.close())
  const address = stranger.address()
  const taken = typeof address === 'object' && address !== null ? address.port : 0
  const after = viewOf({
    ...before,
    l7Frontends: [...before.l7Frontends, frontend('g', 'b', { ports: String(taken) })],
  })
  const result = await apply(viewOf(before), after)
  t.match(result, { ok: false, kind: 'check', undone: true, output: /Address already in use/ })
  t.match(driver.diagnose(result.ok ? '' : result.output, after), [{ section: 'l7Frontends', id: 'g', field: 'ports' }])

  await traffic.until(400)
  const { failures } = await traffic.stop()
  t.strictSame(failures, [])
  t.equal((await ask('@1 show info')).match(/^Pid: (\d+)$/m)?.[1], worker, 'the same worker serves')
  const [{ content } = { content: '' }] = driver.render(viewOf(before))
  t.equal(await host.readFile(driver.render(viewOf(before))[0]?.path ?? ''), content, 'the old file is back')

  stranger.close()
  await once(stranger, 'close')
  t.match(await apply(viewOf(before), after), { ok: true }, 'and once the port is free it works')
  t.match(await get(taken), { status: 200, body: 'one' })
})

t.test('a file that the checker refuses changes nothing and names the record', async (t) => {
  const { apply, driver, host, paths } = haproxyFixture(t)
  const port = await freePort()
  const good = viewOf({ l7Frontends: [frontend('f', null, { ports: String(port) })] })
  t.match(await apply(undefined, good), { ok: true })
  const bad = viewOf({
    l7Frontends: [frontend('f', null, { ports: String(port) }), frontend('z', null, { ip: 'fe80::1%none' })],
  })
  const before = await host.readFile(paths.configFile)
  const result = await apply(good, bad)
  t.match(result, { ok: false, kind: 'check', failedStep: 0, undone: true })
  t.match(driver.diagnose(result.ok ? '' : result.output, bad), [{ section: 'l7Frontends', id: 'z', field: 'ports' }])
  t.equal(await host.readFile(paths.configFile), before)
  t.equal(await host.readFile(`${paths.configFile}.candidate`), undefined)
  t.match(await get(port), { status: 503 })
})

t.test('a long connection survives drain, halt and reload', async (t) => {
  const { apply } = haproxyFixture(t)
  const one = realServer('r1', { port: await echoOrigin(t, 'one') })
  const two = realServer('r2', { port: await echoOrigin(t, 'two'), state: 'halted' })
  const port = await freePort()
  const config = (realServers: readonly (typeof one)[], timeoutServer = 30) =>
    viewOf({
      realServers,
      l7Frontends: [frontend('f', 'b', { mode: 'tcp', ports: String(port) })],
      l7Backends: [backend('b', ['r1', 'r2'], { mode: 'tcp', timeoutServer })],
    })
  let running = config([one, two])
  t.match(await apply(undefined, running), { ok: true })
  const { say } = await conversation(t, port)
  t.equal(await say('hello'), 'one hello')
  const steps = [
    config([
      { ...one, state: 'drained' },
      { ...two, state: 'online' },
    ]),
    config([
      { ...one, state: 'halted' },
      { ...two, state: 'online' },
    ]),
    config(
      [
        { ...one, state: 'halted' },
        { ...two, state: 'online' },
      ],
      31,
    ),
  ]
  for (const desired of steps) {
    t.match(await apply(running, desired), { ok: true })
    running = desired
    t.equal(await say('still'), 'one still', 'the old connection stays')
    t.equal(await (await conversation(t, port)).say('new'), 'two new', 'new connections use another server')
  }
})

t.test('a hanging worker is replaced by the apply that meets it, and gets no more connections', async (t) => {
  const { apply, applyLikeTheEngine, ask } = haproxyFixture(t)
  const port = await freePort()
  const origin = await httpOrigin(t, 'one')
  const config = (weight: number): ConfigView =>
    viewOf({
      realServers: [realServer('r1', { port: origin, weight })],
      l7Frontends: [frontend('f', 'b', { ports: String(port) })],
      l7Backends: [backend('b', ['r1'])],
    })
  await apply(undefined, config(1))
  const worker = Number((await ask('@1 show info')).match(/^Pid: (\d+)$/m)?.[1])
  await hang(worker)
  t.match(await applyLikeTheEngine(config(1), config(2)), { ok: true })
  const answers = await Promise.all(Array.from({ length: 32 }, () => get(port)))
  t.ok(answers.every(({ body }) => body === 'one'))
  t.throws(() => process.kill(worker, 0), { code: 'ESRCH' })
})
