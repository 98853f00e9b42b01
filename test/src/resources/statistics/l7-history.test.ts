import t from 'tap'
import type { HistoryQuery } from '../../../../src/context/figures.ts'
import { Reply } from '../../../../src/api/reply.ts'
import { CORE_METRICS, METRICS } from '../../../../src/model/metrics.ts'
import { l7History } from '../../../../src/resources/statistics/l7-history.ts'
import { sharedAppliance } from '../../../fixtures/shared-appliance.ts'
import { refuses } from '../../../fixtures/config.ts'

const borrow = sharedAppliance(t)

interface Asked {
  readonly of: string
  readonly id: string
  readonly query: HistoryQuery
}

/** Passes a request to a handler and returns its call for the figures. */
function ask(name: string, query: object, { accept = '', found = true } = {}) {
  const asked: Asked[] = []
  const figure = (of: string) => (id: string, parsed: HistoryQuery) => {
    asked.push({ of, id, query: parsed })
    return found ? { body: 'rendered' } : undefined
  }
  const names = ['frontend', 'backend', 'backendReals', 'rip']
  const history = Object.fromEntries(names.map((of) => [of, figure(of)]))
  const endpoint = l7History.find((candidate) => candidate.name === `l7History.${name}`)
  if (endpoint === undefined) throw new Error(`there is no history of ${name}`)
  const request = { params: { applianceId: 'n', id: 'x' }, query, body: undefined, accept, ifNoneMatch: '' }
  const section = () => ({ find: () => undefined })
  const answer = endpoint.handle({ history, section } as never, request as never, undefined as never)
  const [first, ...more] = asked
  if (first === undefined || more.length > 0) throw new Error('the figures were not asked once')
  return { ...first, answer }
}
const WINDOW = { start: 10, end: 20 }

t.test('each endpoint requests its own figures', async (test) => {
  const figures = { frontend: 'frontend', backend: 'backend', backendRips: 'backendReals', rip: 'rip' }
  test.equal(l7History.length, Object.keys(figures).length + 3)
  for (const [name, of] of Object.entries(figures)) {
    const { answer, ...asked } = ask(name, WINDOW)
    test.match(asked, { of, id: 'x' }, name)
    test.ok(answer instanceof Reply && answer.rendered?.body === 'rendered', name)
  }
})

t.test('a window alone means averages of the four metrics, at the finest resolution, in JSON', async (test) => {
  test.same(ask('rip', WINDOW).query, {
    ...WINDOW,
    resolution: undefined,
    consolidation: 'average',
    points: undefined,
    metrics: CORE_METRICS,
    format: 'json',
  })
})

t.test('metrics keep the requested order, each once', async (test) => {
  const { query } = ask('rip', { ...WINDOW, metrics: 'bytesOut,currentSessions,bytesOut' })
  test.same(query.metrics, ['bytesOut', 'currentSessions'])
  const spaced = ask('rip', { ...WINDOW, metrics: ' bytesOut , bytesIn' })
  test.same(spaced.query.metrics, ['bytesOut', 'bytesIn'], 'spaces around commas are ignored')
  for (const metrics of ['', '  '])
    test.same(ask('rip', { ...WINDOW, metrics }).query.metrics, CORE_METRICS, 'the four')
  test.same(ask('rip', { ...WINDOW, metrics: METRICS.join() }).query.metrics, METRICS)
})

t.test('resolution and consolidation are passed on; CSV is for clients that accept it', async (test) => {
  const { query } = ask('frontend', { ...WINDOW, resolution: 300, consolidation: 'maximum' }, { accept: 'text/csv' })
  test.match(query, { resolution: 300, consolidation: 'maximum', format: 'csv' })
  test.equal(ask('frontend', WINDOW, { accept: 'text/csv;q=0.9, */*' }).query.format, 'csv')
  for (const accept of ['', '*/*', 'application/json', 'text/html']) {
    test.equal(ask('frontend', WINDOW, { accept }).query.format, 'json', accept)
  }
})

t.test(
  'an empty window is allowed; one that ends before its start is refused with all other problems',
  async (test) => {
    test.match(ask('backend', { start: 10, end: 10 }).query, { start: 10, end: 10 })
    const error = await refuses(test, 'INVALID_QUERY', () =>
      ask('backend', { start: 11, end: 10, metrics: 'x,bytesIn,' }),
    )
    test.same(
      error.details.errors?.map(({ field, code }) => `${field} ${code}`),
      ['end OUT_OF_RANGE', 'metrics NOT_ALLOWED', 'metrics NOT_ALLOWED'],
    )
  },
)

t.test('a frontend has no queue and no times: a request for them is told what it has', async (test) => {
  test.same(ask('frontend', { ...WINDOW, metrics: 'errors,responses5xx' }).query.metrics, ['errors', 'responses5xx'])
  for (const name of ['queue', 'responseTime', 'connectTime', 'totalTime']) {
    test.same(ask('backend', { ...WINDOW, metrics: name }).query.metrics, [name])
    const error = await refuses(test, 'INVALID_QUERY', () => ask('frontend', { ...WINDOW, metrics: `bytesIn,${name}` }))
    test.match(error.details.errors, [{ field: 'metrics', code: 'NOT_ALLOWED' }])
    test.match(
      error.message,
      new RegExp(`"${name}", which is not recorded for Layer 7 frontends: available are .* errors$`),
    )
  }
})

t.test('points is passed on, and determines the resolution alone', async (test) => {
  test.match(ask('rip', { ...WINDOW, points: 300 }).query, { points: 300, resolution: undefined })
  const error = await refuses(test, 'INVALID_QUERY', () => ask('rip', { ...WINDOW, points: 300, resolution: 60 }))
  test.match(error.details.errors, [{ field: 'points', code: 'CONFLICT' }])
})

t.test('objects that are not running are refused', async (test) => {
  const error = await refuses(test, 'NOT_FOUND', () => ask('rip', WINDOW, { found: false }))
  test.match(error.message, /after apply/)
})

t.test('an object has a history from its apply on; nothing recorded is null, in JSON and CSV', async (test) => {
  const { call, node } = await borrow()
  const body = { name: 'www', mode: 'http', ip: '127.0.0.1', ports: '80' }
  const id = (await call('POST', '/layer7proxy/frontends', { body })).json.data.id
  const path = `/${node}/layer7proxy/stats/frontends/${id}/history?start=1790000000&end=1790000003&metrics=bytesIn`
  test.match((await call('GET', path)).json, { code: 'NOT_FOUND' }, 'only staged')
  await call('PUT', '/services/apply')
  const answer = await call('GET', path)
  test.match(answer.json.data, { id, name: 'www', applianceId: node, consolidation: 'average', metrics: ['bytesIn'] })
  test.same(Object.keys(answer.json.data.series), ['bytesIn'])
  test.ok(answer.json.data.series.bytesIn.every((point: unknown) => point === null))
  const csv = await call('GET', path, { headers: { accept: 'text/csv' } })
  test.match(csv.headers['content-type'], /^text\/csv/)
  test.match(csv.headers['X-Resolution'], /^\d+$/)
  test.match(csv.text, /bytesIn/)
})

t.test('several objects in one answer, in the order of their ids; every bad id is named', async (test) => {
  const { call, node } = await borrow()
  const base = `/${node}/layer7proxy/stats`
  const frontend = async (name: string, ports: string) => {
    const body = { name, mode: 'http', ip: '127.0.0.1', ports }
    return String((await call('POST', '/layer7proxy/frontends', { body })).json.data.id)
  }
  const ripBody = { name: 'several-rip', ip: '127.0.0.1', port: 80 }
  const rip = (await call('POST', '/ipvsDirector/rips', { body: ripBody })).json.data.id
  const backendBody = { name: 'several-be', mode: 'http', reals: [{ ripId: rip }] }
  const backend = (await call('POST', '/layer7proxy/backends', { body: backendBody })).json.data.id
  const one = await frontend('several-1', '8101')
  const two = await frontend('several-2', '8102')
  const window = 'start=1790000000&end=1790000003&metrics=requestRate,errors'
  const several = (kind: string, ids: string, more = window) =>
    call('GET', `${base}/${kind}/history?${more}&ids=${ids}`)
  test.match((await several('frontends', one)).json, { code: 'INVALID_QUERY' }, 'only staged')
  test.match((await several('rips', rip)).json.data, { reals: [] }, 'a real server that runs in no backend')
  await call('PUT', '/services/apply')

  const answer = (await several('frontends', `${two},${one}, ${two}`)).json.data
  test.match(answer, { applianceId: node, consolidation: 'average', metrics: ['requestRate', 'errors'] })
  test.same(Object.keys(answer).at(-1), 'frontends')
  const [first, second, ...more] = answer.frontends
  test.same([first.id, first.name, second.id, second.name, more.length], [two, 'several-2', one, 'several-1', 0])
  test.same(Object.keys(first), ['id', 'name', 'series'])
  test.same(Object.keys(first.series), ['requestRate', 'errors'])
  const csv = await call('GET', `${base}/frontends/history?${window}&ids=${one},${two}`, {
    headers: { accept: 'text/csv' },
  })
  test.match(csv.text, /^time,id,name,requestRate,errors\r\n\d+,[^,]+,several-1,,\r\n/)
  test.match((await several('backends', backend)).json.data, { backends: [{ id: backend, name: 'several-be' }] })
  const reals = (await several('rips', rip)).json.data.reals
  test.match(reals, [{ backendId: backend, backendName: 'several-be', id: rip, name: 'several-rip' }])

  const refused = (await several('frontends', `${one},${backend},,nope`)).json
  test.same(
    refused.errors.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`),
    ['ids NOT_FOUND', 'ids NOT_FOUND', 'ids NOT_FOUND'],
  )
  test.match(refused.message, /which is a backend; .*which is not an id; .*"nope", which is not a running frontend/)
  const many = Array.from({ length: 51 }, (_, n) => `f${n}`).join()
  test.match((await several('frontends', many)).json.errors, [{ field: 'ids', code: 'TOO_MANY' }])
  test.match((await several('frontends', '')).json.errors, [{ field: 'ids' }])
  test.match((await call('GET', `${base}/frontends/history?${window}`)).json.errors, [
    { field: 'ids', code: 'REQUIRED' },
  ])
  for (const points of ['0', '20001', 'x', '1.5']) {
    const { json } = await several('frontends', one, `${window}&points=${points}`)
    test.match(json, { code: 'INVALID_QUERY', errors: [{ field: 'points' }] }, points)
  }
  const queue = (await several('frontends', one, 'start=1&end=2&metrics=queue')).json
  test.match(queue, { code: 'INVALID_QUERY', errors: [{ field: 'metrics', code: 'NOT_ALLOWED' }] })
})

t.test('a real server that is not applied is in no backend: [], in JSON and CSV', async (test) => {
  const { call, node } = await borrow()
  const rip = { name: 'web', ip: '127.0.0.1', port: 80 }
  const { id } = (await call('POST', '/ipvsDirector/rips', { body: rip })).json.data
  for (const base of [`/${node}/layer7proxy/stats`, '/ipvsDirector/stats']) {
    const path = `${base}/rips/${id}/history?start=1790000000&end=1790000003`
    const answer = await call('GET', path)
    test.same([answer.status, answer.json?.data], [200, []], base)
    const csv = await call('GET', path, { headers: { accept: 'text/csv' } })
    test.equal(csv.text, 'time,backendId,backendName,currentSessions,sessionRate,bytesIn,bytesOut\r\n')
    test.equal((await call('GET', path.replace(id, 'none'))).status, 404, 'an unknown one')
  }
})
