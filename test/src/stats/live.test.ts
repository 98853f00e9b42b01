import { readFileSync } from 'node:fs'
import t from 'tap'
import { LIVE_FIELDS } from '../../../src/stats/live-fields.ts'
import { LiveAnswers } from '../../../src/stats/live.ts'
import { tickOf } from '../../fixtures/live-tick.ts'
import { namesOf } from './names-fixture.ts'

const P = '0198c0de-0000-7000-8000-00000000000'
const fixture = new Uint8Array(readFileSync(new URL('../../fixtures/haproxy-2.6/show-stat.csv', import.meta.url)))

function names() {
  return {
    ...namesOf(
      [
        { id: `${P}f`, name: 'Shop "1" ü' },
        { id: 'new', name: 'not yet applied' },
      ],
      [
        {
          id: `${P}b`,
          name: 'Shop',
          reals: [
            { ripId: `${P}1`, name: 'web 1' },
            { ripId: `${P}2`, name: 'web 2' },
          ],
        },
      ],
    ),
    version: 1,
  }
}

function parse(body: Uint8Array | undefined): {
  message: string
  data: Record<string, unknown>[] & Record<string, unknown>
} {
  return JSON.parse(Buffer.from(body ?? []).toString())
}

t.test('figures of HAProxy 2.6 under the names of the contract', async (t) => {
  const live = new LiveAnswers(names(), 'n')
  live.update(tickOf(fixture))
  const { message, data } = parse(live.render({ kind: 'frontends' })?.body)
  t.equal(message, 'Layer 7 statistics')
  const [shop, missing] = data
  t.match(shop, {
    id: `${P}f`,
    name: 'Shop "1" ü',
    status: 'OPEN',
    mode: 'http',
    totalSessions: 12,
    bytesIn: 624,
    bytesOut: 13_248,
  })
  t.match(shop, { responses2xx: 12, sessionLimit: 9_981, requestErrors: 0 })
  t.strictSame(Object.keys(shop ?? {}), ['id', 'name', ...LIVE_FIELDS.frontend.map(({ name }) => name)])
  t.match(missing, { id: 'new', status: 'UNKNOWN', totalSessions: null, mode: null })
  const [real] = parse(live.render({ kind: 'rip', id: `${P}1` })?.body).data
  t.match(real, {
    backendId: `${P}b`,
    backendName: 'Shop',
    status: 'no check',
    sessionLimit: null,
    totalSessions: 6,
    checkStatus: null,
  })
  t.strictSame(Object.keys(real ?? {}), [
    'id',
    'name',
    'backendId',
    'backendName',
    'state',
    ...LIVE_FIELDS.server.map(({ name }) => name),
  ])
  const backend = parse(live.render({ kind: 'backend', id: `${P}b` })?.body).data
  t.match(backend, { status: 'UP', activeServers: 2, totalRequests: 12 })
  t.strictSame(Object.keys(parse(live.render({ kind: 'all' })?.body).data), ['frontends', 'backends', 'reals'])
  t.equal(live.render({ kind: 'backend', id: 'none' }), undefined)
})

t.test('the status of a check stays while the next one is in progress', async (t) => {
  const live = new LiveAnswers(names(), 'n')
  const [head = '', ...rows] = Buffer.from(fixture).toString().split('\n')
  const column = head.slice('# '.length).split(',').indexOf('check_status')
  for (const [at, status] of ['L7OK', '* L7OK'].entries()) {
    const checked = rows.map((row) => (row.includes(`,${P}1,`) ? row.split(',').with(column, status).join(',') : row))
    live.update(tickOf(Buffer.from([head, ...checked].join('\n')), at + 1))
    t.equal(parse(live.render({ kind: 'rips' })?.body).data[0]?.['checkStatus'], 'L7OK', status)
  }
})

/** The next second: sessions of the first frontend. */
function later(csv: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.from(Buffer.from(csv).toString().replace('FRONTEND,,,0,1,', 'FRONTEND,,,7,7,')))
}

t.test("a real server has its configured state, or HAProxy's where it is not configured here", async (t) => {
  const states: Record<string, 'drained' | 'halted'> = { [`${P}1`]: 'drained' }
  const chosen = { ...names(), state: (ripId: string) => states[ripId] }
  const live = new LiveAnswers(chosen, 'n')
  live.update(tickOf(fixture))
  const shown = () => parse(live.render({ kind: 'rips' })?.body).data.map(({ state }) => state)
  t.strictSame(shown(), ['drained', 'online'])
  states[`${P}2`] = 'halted'
  live.update(tickOf(fixture, 2))
  t.strictSame(shown(), ['drained', 'halted'], 'names need not change for that')
  const observed = new LiveAnswers(names(), 'n')
  t.strictSame(
    parse(observed.render({ kind: 'rips' })?.body).data.map(({ state }) => state),
    [null, null],
    'there is no answer yet',
  )
  const text = Buffer.from(fixture).toString()
  for (const [status, state] of [
    ['MAINT', 'halted'],
    ['MAINT (via x/y)', 'halted'],
    ['DRAIN', 'drained'],
    ['DOWN 1/2', 'online'],
  ] as const) {
    observed.update(tickOf(Buffer.from(text.replaceAll('no check', status)), 3))
    t.match(parse(observed.render({ kind: 'rips' })?.body).data, [{ status, state }], status)
    observed.update({ ...tickOf(fixture, 4), csv: undefined, rows: undefined })
  }
})

t.test('rendered once per tick and view, with an ETag for as long as the bytes stay', async (t) => {
  const configuration = names()
  const live = new LiveAnswers(configuration, 'n')
  live.update(tickOf(fixture, 1))
  const first = live.render({ kind: 'all' })
  const backend = live.render({ kind: 'backend', id: `${P}b` })
  t.equal(live.render({ kind: 'all' }), first)
  live.update(tickOf(fixture, 2))
  t.equal(live.render({ kind: 'all' }), first, 'a quiet second')
  live.update(tickOf(later(fixture), 3))
  const third = live.render({ kind: 'all' })
  t.notOk(Buffer.from(third?.body ?? '').equals(first?.body ?? Buffer.from('')))
  t.not(third?.etag, first?.etag)
  const again = live.render({ kind: 'backend', id: `${P}b` })
  t.not(again, backend, 'not requested in the second before')
  t.strictSame(again?.body, backend?.body)
  live.update(tickOf(fixture, 4))
  t.not(live.render({ kind: 'all' })?.etag, first?.etag, 'bytes that come back have a new tag')
  configuration.version = 2
  t.not(live.render({ kind: 'all' })?.etag, third?.etag)
})

t.test(
  'without an answer of HAProxy every object is listed as unknown, and it is said since when and why',
  async (t) => {
    const live = new LiveAnswers(names(), 'n')
    t.match(parse(live.render({ kind: 'frontends' })?.body).message, /has not been queried/)
    live.update({
      sequence: 2,
      csv: undefined,
      rows: undefined,
      kinds: undefined,
      statuses: undefined,
      layout: 0,
      since_ms: 1_700_000_000_000,
      reason: 'its socket does not exist',
    })
    const { message, data } = parse(live.render({ kind: 'rips' })?.body)
    t.equal(message, 'HAProxy has not answered since 2023-11-14T22:13:20.000Z: its socket does not exist')
    t.strictSame(
      data.map((real) => [real['name'], real['status'], real['bytesIn']]),
      [
        ['web 1', 'UNKNOWN', null],
        ['web 2', 'UNKNOWN', null],
      ],
    )
  },
)

t.test('after a silence the rows are looked up again, whatever number their layout has', async (t) => {
  const live = new LiveAnswers(names(), 'n')
  const csv = Buffer.from(fixture)
  live.update(tickOf(fixture, 1))
  const before = parse(live.render({ kind: 'rips' })?.body).data
  live.update({
    sequence: 2,
    csv: undefined,
    rows: undefined,
    kinds: undefined,
    statuses: undefined,
    layout: -1,
    since_ms: 1,
    reason: 'the thread failed',
  })
  live.render({ kind: 'rips' })
  // Another frontend at the top moves every later row.
  const header = csv.indexOf('\n') + 1
  const row = csv
    .subarray(header, csv.indexOf('\n', header) + 1)
    .toString()
    .replace(/^[^,]*/, 'another')
  const grown = Buffer.concat([csv.subarray(0, header), Buffer.from(row), csv.subarray(header)])
  live.update(tickOf(new Uint8Array(grown), 3))
  t.strictSame(parse(live.render({ kind: 'rips' })?.body).data, before)
})

t.test('rows that move, columns that move, texts that need escaping', async (t) => {
  const live = new LiveAnswers(names(), 'n')
  live.update(tickOf(fixture, 1, 1))
  live.render({ kind: 'all' })
  const header = '# pxname,svname,status,type,bin,bout,stot,scur,mode,'
  const csv = [header, `${P}b,BACKEND,UP,1,,,,,http,`, `${P}f,FRONTEND,"O""P, E\tN",0,1,2,3,4,tcp,`].join('\n')
  live.update(tickOf(new Uint8Array(Buffer.from(`${csv}\n\n`)), 2, 2))
  const [shop] = parse(live.render({ kind: 'frontends' })?.body).data
  t.match(shop, {
    status: 'O"P, E\tN',
    mode: 'tcp',
    bytesIn: 1,
    bytesOut: 2,
    totalSessions: 3,
    currentSessions: 4,
    sessionRate: null,
  })
})

t.test('the memory of an answer is released when it is no longer read', async (test) => {
  const live = new LiveAnswers(names(), 'n')
  const freed: number[] = []
  const update = (sequence: number) =>
    live.update({ ...tickOf(fixture, sequence), free: () => void freed.push(sequence) })
  update(1)
  test.same(freed, [])
  update(2)
  test.same(freed, [1])

  live.since(1)
  update(3)
  test.same(freed, [1], 'the previous one stays while it is compared')
  update(4)
  test.same(freed, [1, 2, 3])

  const [first, second] = [live.hold(), live.hold()]
  update(5)
  first()
  first()
  test.same(freed, [1, 2, 3], 'it is still being read')
  second()
  test.same(freed, [1, 2, 3, 4])
  const last = live.hold()
  last()
  test.same(freed, [1, 2, 3, 4], 'it is the last answer')
  update(6)
  test.same(freed, [1, 2, 3, 4, 5], 'once each')
})

t.test("a changed state is reported, although HAProxy's answer is the same", async (test) => {
  let [states, state] = [1, 'online' as 'online' | 'drained']
  const changing = Object.defineProperty({ ...names(), state: () => state }, 'states', { get: () => states })
  const live = new LiveAnswers(changing, 'n')
  live.update(tickOf(fixture, 1))
  live.since(1)
  const rip = () => live.render({ kind: 'rip', id: `${P}1` })
  const before = rip()
  test.equal(rip(), before)
  states = 2
  state = 'drained'
  test.match(parse(rip()?.body).data, [{ state: 'drained' }])
  test.not(rip()?.etag, before?.etag)
  live.update(tickOf(fixture, 2))
  test.equal(live.since(1), undefined, 'an earlier reader gets everything')
  test.type(live.since(2), 'function')
  live.update(tickOf(fixture, 3))
  test.type(live.since(2), 'function', 'once')
  states = 3
  test.equal(live.since(3), undefined, 'also within a second')
})
