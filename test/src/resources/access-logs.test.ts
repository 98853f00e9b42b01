import { join } from 'node:path'
import t from 'tap'
import { LogStore } from '../../../storage/logs/store.ts'
import { applianceFixture } from '../../fixtures/appliance.ts'
import { logRow } from '../../fixtures/log-rows.ts'

const LIMITS = { bytes_max: 1_000_000, age_ms: 1_000_000_000_000_000 }

t.test('the log that a node has kept is searched page by page, and counted', async (test) => {
  const { call, node, state } = await applianceFixture(test)
  const store = new LogStore(join(state, 'access-logs'), LIMITS)
  for (let at = 0; at < 5; at++) store.append([logRow({ path: `/${at}`, status: at === 2 ? 503 : 200 })], {})
  store.close()
  const path = `/${node}/layer7proxy/logs`
  const pathsOf = (json: { readonly data: readonly { readonly path: string }[] }) => json.data.map((line) => line.path)
  const first = await call('GET', `${path}?limit=2`)
  test.match(first.json, { losses: { lost: 0, unreadable: 0, unstored: 0 }, next: /./ })
  test.strictSame(pathsOf(first.json), ['/4', '/3'])
  const last = await call('GET', `${path}?limit=3&after=${first.json.next}`)
  test.strictSame(pathsOf(last.json), ['/2', '/1', '/0'])
  test.strictSame(pathsOf((await call('GET', `${path}?status=5xx&path=2&slowerThan=8`)).json), ['/2'])
  test.match((await call('GET', `${path}/top?limit=1`)).json.data, { lines: 5, status: [{ status: 200, count: 4 }] })
})

t.test('lines are found by the name that each shows, and by ids of deleted records', async (test) => {
  const { call, node, state } = await applianceFixture(test)
  const rip = (await call('POST', '/ipvsDirector/rips', { body: { name: 'Web 1', ip: '192.0.2.9', port: 80 } })).json
  const gone = '0199f3a0-0000-7000-8000-000000000001'
  await call('PUT', '/services/apply')
  const store = new LogStore(join(state, 'access-logs'), LIMITS)
  store.append([logRow({ path: '/web', server: rip.data.id }), logRow({ path: '/gone', server: gone })], {})
  store.close()
  const found = async (server: string) =>
    (await call('GET', `/${node}/layer7proxy/logs?server=${encodeURIComponent(server)}`)).json.data
  const [line] = await found('web 1')
  test.match(line, { path: '/web', serverId: rip.data.id, serverName: 'Web 1' })
  test.match(await found(line.serverId), [{ path: '/web' }])
  test.match(await found(gone), [{ path: '/gone', serverName: null }])
})

t.test('problems of a search are reported for each parameter', async (test) => {
  const { call, node } = await applianceFixture(test)
  const wrong = async (query: string, under = '') => {
    const { status, json } = await call('GET', `/${node}/layer7proxy/logs${under}?${query}`)
    test.match([status, json.code], [422, 'INVALID_QUERY'], query)
    return json.errors.map(({ field }: { readonly field: string }) => field)
  }
  test.strictSame(await wrong('status=6xx&limit=0&source=x'), ['status', 'source', 'limit'])
  test.strictSame(await wrong('after=x'), ['after'])
  test.strictSame(await wrong('colour=red'), ['colour'])
  for (const under of ['', '/top', '/stream']) {
    test.strictSame(await wrong('start=5&end=1&frontendId=nope&server=unheard-of', under), [
      'end',
      'frontendId',
      'server',
    ])
  }
})
