import t, { type Test } from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'
import type { ClockFacts } from '../../../src/model/machine-facts.ts'

const borrow = sharedAppliance(t)

async function fixture(test: Test, clock?: Partial<ClockFacts>) {
  const { call, node, machine } = await borrow()
  const facts = (found: Partial<ClockFacts>) => {
    const all: ClockFacts = { timezone: 'Etc/UTC', ntpEnabled: false, tracking: undefined, ...found }
    Object.assign(machine.facts, { clock: async () => all })
  }
  if (clock !== undefined) facts(clock)
  const path = `/${node}/system/datetime`
  const put = (what: string, body: object) => call('PUT', `${path}${what}`, { body })
  const read = async () => (await call('GET', path)).json.data
  const apply = async () => test.equal((await call('PUT', '/services/apply')).status, 200)
  return { call, machine, facts, path, put, read, apply }
}
const TRACKING: ClockFacts['tracking'] = {
  synchronised: true,
  reference: 'ntp.example.test',
  stratum: 3,
  offset_s: -0.25,
  servers: [
    { name: 'pool.example.test', state: 'selected', reachable: true },
    { name: 'pool.example.test', state: 'unusable', reachable: false },
  ],
}

t.test('when unset: the state of the machine', async (test) => {
  const { read, facts } = await fixture(test, { timezone: 'Europe/Paris', ntpEnabled: true, tracking: TRACKING })
  test.match(await read(), { timezone: 'Europe/Paris', ntpEnabled: true, ntp: ['pool.example.test'] })
  facts({ timezone: undefined, ntpEnabled: undefined })
  test.match(await read(), { timezone: 'Etc/UTC', ntpEnabled: false, ntp: [] })
})

t.test('the date has the offset of the zone, and is the current one', async (test) => {
  const { read, put } = await fixture(test, { timezone: 'Asia/Kathmandu' })
  for (const [offset, zone] of [
    ['+05:45', undefined],
    ['-03:00', 'America/Argentina/Salta'],
  ] as const) {
    if (zone !== undefined) await put('/timezone', { zone })
    const { dateTime } = await read()
    test.match(dateTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/)
    test.ok(dateTime.endsWith(offset), dateTime)
    test.ok(Math.abs(Date.parse(dateTime) - Date.now()) < 600_000, dateTime)
  }
})

t.test('time zones: region to city to empty array', async (test) => {
  const { call } = await fixture(test)
  const { json } = await call('GET', '/system/datetime/timezones')
  test.same(json.data, { America: { 'Argentina/Salta': [] }, Etc: { UTC: [] }, Europe: { Paris: [] } })
})

t.test('a machine without tzdata has no time zones to offer or to set', async (test) => {
  const { call, machine, put } = await fixture(test)
  Object.assign(machine.facts, { timeZones: async () => undefined })
  const refused = { status: 501, json: { code: 'NOT_SUPPORTED', message: /tzdata/ } }
  test.match(await call('GET', '/system/datetime/timezones'), refused)
  test.match(await put('/timezone', { zone: 'Europe/Paris' }), refused)
})

t.test('a time zone must be one of tzdata; it waits for apply', async (test) => {
  const { put, read, call, machine, apply } = await fixture(test)
  for (const zone of ['Europe/Nowhere', 'Europe', 'europe/paris', '../../etc/passwd', '', 'Europe/Paris ']) {
    const answer = await put('/timezone', { zone })
    test.equal(answer.status, 422)
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'zone', code: 'INVALID_BODY' }] }, zone)
  }
  test.match((await put('/timezone', {})).json, { code: 'INVALID_BODY', errors: [{ field: 'zone' }] })
  test.same((await put('/timezone', { zone: 'Europe/Paris' })).json, { status: 'success', message: 'Time zone stored' })
  test.equal((await read()).timezone, 'Europe/Paris')
  test.match((await call('GET', '/services/pending')).json.data.changes, [
    { resource: 'clocks', effect: 'runtime', services: ['timezone'] },
  ])
  machine.host.takeJournal()
  await apply()
  test.same(machine.host.journal, [{ verb: 'setting', key: 'timezone', value: 'Europe/Paris' }])
})

t.test('NTP: omitted servers stay, sent ones replace them, an empty list means those of Debian', async (test) => {
  const { put, read } = await fixture(test, { tracking: TRACKING })
  await put('/ntp', { ntpEnabled: true })
  test.match(await read(), { ntpEnabled: true, ntp: ['pool.example.test'] }, 'at first, those of the machine')
  const servers = ['ntp.example.test', '192.0.2.1', '2001:db8::7']
  await put('/ntp', { ntpEnabled: false, ntp: servers })
  test.match(await read(), { ntpEnabled: false, ntp: servers })
  await put('/ntp', { ntpEnabled: true })
  test.match(await read(), { ntpEnabled: true, ntp: servers })
  await put('/ntp', { ntpEnabled: true, ntp: [] })
  test.same((await read()).ntp, [])
})

t.test('NTP: servers are host names or addresses, at most 32, and ntpEnabled is required', async (test) => {
  const { put, read } = await fixture(test)
  for (const server of ['a b', 'a\nb', 'ntp.test:123', '', 'fe80::1%eth0', '10.0.0.0/8', 'a;b', 'a#b']) {
    const answer = await put('/ntp', { ntpEnabled: true, ntp: ['good.test', server] })
    test.equal(answer.status, 422)
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'ntp.1', code: 'INVALID_BODY' }] }, server)
  }
  const two = await put('/ntp', { ntpEnabled: true, ntp: ['a b', 'c.test', 'd e'] })
  test.match(two.json.errors, [{ field: 'ntp.0' }, { field: 'ntp.2' }], 'all problems at once')
  const many = Array.from({ length: 33 }, (_, index) => `n${index}.test`)
  test.match((await put('/ntp', { ntpEnabled: true, ntp: many })).json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'ntp' }],
  })
  test.equal((await put('/ntp', { ntpEnabled: true, ntp: many.slice(1) })).status, 200)
  test.match((await put('/ntp', { ntp: [] })).json, { code: 'INVALID_BODY', errors: [{ field: 'ntpEnabled' }] })
  test.equal((await read()).ntp.length, 32)
})

t.test('zone and NTP are independent', async (test) => {
  const { put, read } = await fixture(test)
  await put('/ntp', { ntpEnabled: true, ntp: ['a.test'] })
  await put('/timezone', { zone: 'Europe/Paris' })
  await put('/ntp', { ntpEnabled: false })
  test.match(await read(), { timezone: 'Europe/Paris', ntpEnabled: false, ntp: ['a.test'] })
})

t.test('the date is set at once, in the zone of the node: the offset is ignored', async (test) => {
  const { put, machine, call } = await fixture(test)
  for (const [dateTime, wallTime] of [
    ['2026-03-04T05:06:07+09:00', '2026-03-04 05:06:07'],
    ['2026-03-04T05:06:07Z', '2026-03-04 05:06:07'],
    ['2026-03-04T05:06', '2026-03-04 05:06:00'],
  ] as const) {
    machine.host.takeJournal()
    const answer = await put('', { dateTime })
    test.equal(answer.status, 200)
    test.same(machine.host.journal, [{ verb: 'run', argv: ['timedatectl', 'set-time', wallTime] }])
    test.equal((await call('GET', '/services/pending')).json.data.count, 0)
  }
})

t.test('in trial the clock stays, and the answer says so', async (test) => {
  const { put } = await fixture(test)
  const answer = await put('', { dateTime: '2026-03-04T05:06:07Z' })
  test.equal(answer.headers['X-Dry-Run'], 'true')
  test.match(answer.json, { status: 'success', message: /^Recorded only/ })
  test.notOk('data' in answer.json, 'message only')
})

t.test('a date that is not in the calendar is refused', async (test) => {
  const { put, machine } = await fixture(test)
  machine.host.takeJournal()
  for (const dateTime of [
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01',
    'tomorrow',
    '',
    '2026-01-01T25:00:00',
  ]) {
    const answer = await put('', { dateTime })
    test.equal(answer.status, 422)
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'dateTime', code: 'INVALID_BODY' }] }, dateTime)
  }
  for (const dateTime of [1_790_000_000, null]) test.equal((await put('', { dateTime })).status, 422)
  test.same(machine.host.journal, [])
})

t.test('the date is refused while NTP runs, ours or another', async (test) => {
  const { put, machine, facts, apply } = await fixture(test, { ntpEnabled: true })
  const refused = async (title: string) => {
    machine.host.takeJournal()
    const answer = await put('', { dateTime: '2026-03-04T05:06:07Z' })
    test.equal(answer.status, 422, title)
    test.match(answer.json, { code: 'NTP_ENABLED', errors: [{ field: 'dateTime', message: /disable NTP/ }] })
    test.same(machine.host.journal, [])
  }
  await refused('the machine says that something keeps its clock')
  facts({ ntpEnabled: false })
  await put('/ntp', { ntpEnabled: true, ntp: ['a.test'] })
  test.equal(
    (await put('', { dateTime: '2026-03-04T05:06:07Z' })).status,
    200,
    'a change that waits for apply does not count',
  )
  await apply()
  await refused('the running configuration says so')
  await put('/ntp', { ntpEnabled: false })
  await refused('until it is applied')
  await apply()
  test.equal((await put('', { dateTime: '2026-03-04T05:06:07Z' })).status, 200)
})

t.test('tracking: the state of chrony, or that it does not run', async (test) => {
  const { call, path, facts } = await fixture(test, { tracking: TRACKING })
  test.same((await call('GET', `${path}/ntp`)).json.data, {
    synchronised: true,
    reference: 'ntp.example.test',
    stratum: 3,
    offsetSeconds: -0.25,
    servers: TRACKING.servers,
  })
  facts({})
  test.same((await call('GET', `${path}/ntp`)).json.data, {
    synchronised: false,
    reference: null,
    stratum: null,
    offsetSeconds: null,
    servers: [],
  })
})

t.test('every problem at once: those of the schema do not hide those of the rules', async (test) => {
  const { put } = await fixture(test)
  const answer = await put('/ntp', { ntp: ['a b'] })
  test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'ntpEnabled' }, { field: 'ntp.0' }] })
})

t.test('the clock as read may be sent to each of its settings, also when time has passed', async (test) => {
  const { put, read, call } = await fixture(test, { timezone: 'Europe/Paris', ntpEnabled: false })
  await put('/ntp', { ntpEnabled: false, ntp: ['ntp.test'] })
  const before = { ...(await read()), dateTime: '2026-01-31T13:45:00+01:00' }
  for (const part of ['/ntp', '/timezone', '']) {
    const answer = await put(part, before)
    test.equal(answer.status, 200, answer.text)
  }
  test.match(await read(), { timezone: 'Europe/Paris', ntpEnabled: false, ntp: ['ntp.test'] })
  for (const [part, wrong, field] of [
    ['/ntp', { timezone: 'Etc/UTC' }, 'timezone'],
    ['/timezone', { ntpEnabled: true }, 'ntpEnabled'],
  ] as const) {
    const { json } = await put(part, { ...before, ...wrong })
    test.match(json, { code: 'READ_ONLY', errors: [{ field, code: 'READ_ONLY' }] })
  }
  const { properties } = (await call('GET', '/openapi.json')).json.components.schemas.DateTimeNtpInput
  test.match(properties.dateTime, { readOnly: true })
})

t.test('a zone is accepted under either field name, and refused when they differ or both are missing', async (test) => {
  const { put, read } = await fixture(test)
  test.equal((await put('/timezone', { timezone: 'Europe/Paris' })).status, 200)
  test.equal((await put('/timezone', { timezone: 'Europe/Paris', zone: 'Europe/Paris' })).status, 200)
  test.match((await put('/timezone', { timezone: 'Europe/Paris', zone: 'Etc/UTC' })).json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'timezone', message: /conflicts with zone/ }],
  })
  test.match((await put('/timezone', {})).json, { errors: [{ field: 'zone', code: 'REQUIRED' }] })
  test.equal((await read()).timezone, 'Europe/Paris')
})
