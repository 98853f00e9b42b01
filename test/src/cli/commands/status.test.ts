import t from 'tap'
import { until } from '../../../fixtures/until.ts'
import { cliFixture, fulcrum } from '../../../fixtures/cli.ts'
import { httpServer } from '../../../fixtures/traffic.ts'

const fixture = cliFixture(t)

t.test('the state, at a glance, and as an exit code', async (test) => {
  const { run, call, env } = await fixture(test)
  const empty = await run('status')
  test.match(empty.out, /^There are no services yet\.\n\nRevision \d+ runs, applied \d+ \S+ ago by /)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  await call('POST', '/layer7proxy/backends', {
    body: { name: 'shop', mode: 'http', reals: [{ ripId: { name: 'web1' } }] },
  })
  const frontend = { name: 'shop', mode: 'http', ip: '127.0.0.1', ports: '8094', defaultBackendId: { name: 'shop' } }
  await call('POST', '/layer7proxy/frontends', { body: frontend })
  await call('PUT', '/services/apply')
  await call('PUT', `/ipvsDirector/rips/${(await call('GET', '/ipvsDirector/rips')).json.data[0].id}/drain`)
  // The overview is built once a second.
  const { exit, out } = await until(
    'the frontend',
    () => run('status'),
    (one) => one.out.includes('LAYER'),
  )
  test.match(out, /^LAYER +FRONTENDS +BACKENDS +SERVERS +DRAINED +HALTED +SESSIONS +NEW\/S +REQUESTS\/S\n7 +\d\/1 up/)
  test.match(out, /1 change is pending, 1 yours\./)
  test.equal(exit, Number(/^(?:warning|critical): /m.test(out)) + Number(/^critical: /m.test(out)))
  test.match(JSON.parse((await run('status --json')).out), { layer7: { frontends: { total: 1 } } })
  const away = await fulcrum(['status'], { ...env, FULCRUM_URL: 'https://127.0.0.1:1' })
  test.match(away, { exit: 3, err: /nothing listens there/ })
  test.match(await fulcrum(['status'], { ...env, FULCRUM_TOKEN: 'wrong' }), { exit: 3, err: /UNAUTHENTICATED/ })
})

t.test('unchecked servers are not shown as down', async (test) => {
  const { env } = await fixture(test)
  const some = (total: number, up: number, unknown: number) => ({ total, up, down: 0, drained: 0, halted: 0, unknown })
  const layer = (total: number, reals: object) => {
    const one = { total, up: total, down: 0 }
    return { problem: null, frontends: one, backends: one, reals, traffic: {} }
  }
  for (const [reals, told] of [
    [some(3, 1, 2), '1/3 up, 2 unknown'],
    [some(3, 3, 0), '3/3 up'],
  ] as const) {
    const data = { layer7: layer(1, reals), layer4: layer(0, some(0, 0, 0)), nodes: [], attention: [], more: 0 }
    const seen = { ...data, apply: null, pending: null, revisions: null }
    const port = await httpServer(test, (_request, response) => {
      response.end(JSON.stringify({ status: 'success', data: seen }))
    })
    const { out } = await fulcrum(['status'], { ...env, FULCRUM_URL: `http://127.0.0.1:${port}` })
    test.match(out, new RegExp(` ${told}  `))
  }
})
