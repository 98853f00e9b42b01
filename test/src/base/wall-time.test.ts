import t from 'tap'
import { isoInZone, wallTimeOf } from '../../../src/base/wall-time.ts'

t.test('an ISO 8601 time is read without its offset', async (test) => {
  for (const [text, wall] of [
    ['2026-01-31T13:45:07Z', '2026-01-31 13:45:07'],
    ['2026-01-31T13:45:07+05:45', '2026-01-31 13:45:07'],
    ['2026-01-31T13:45:07-0300', '2026-01-31 13:45:07'],
    ['2026-01-31T13:45:07.999+01', '2026-01-31 13:45:07'],
    ['2026-01-31T13:45', '2026-01-31 13:45:00'],
    ['2026-01-31 13:45:07', '2026-01-31 13:45:07'],
    ['2024-02-29T00:00:00', '2024-02-29 00:00:00'],
    ['1971-01-01T00:00:00', '1971-01-01 00:00:00'],
  ] as const) {
    test.equal(wallTimeOf(text), wall, text)
  }
})

t.test('a date outside of the calendar, or no time, is refused', async (test) => {
  for (const text of [
    '2026-02-30T00:00:00',
    '2025-02-29T00:00:00',
    '2026-13-01T00:00:00',
    '2026-00-10T00:00:00',
    '2026-01-00T00:00:00',
    '2026-01-01T24:00:00',
    '2026-01-01T23:60:00',
    '2026-01-01T23:59:60',
    '1970-12-31T23:59:59',
    '2106-01-01T00:00:00',
    '2026-01-31',
    '2026-1-1T00:00:00',
    '20260131T134507',
    '12:00:00',
    'now',
    '',
    '2026-01-31T13:45:07Z; reboot',
    '-2026-01-31T13:45:07',
  ]) {
    test.equal(wallTimeOf(text), undefined, text)
  }
})

t.test('a time is shown in the zone with its offset on that day', async (test) => {
  const winter = Date.UTC(2026, 0, 15, 12, 0, 0, 999)
  const summer = Date.UTC(2026, 6, 15, 23, 30)
  for (const [at, zone, iso] of [
    [winter, 'Etc/UTC', '2026-01-15T12:00:00+00:00'],
    [winter, 'Europe/Paris', '2026-01-15T13:00:00+01:00'],
    [summer, 'Europe/Paris', '2026-07-16T01:30:00+02:00'],
    [winter, 'America/Argentina/Salta', '2026-01-15T09:00:00-03:00'],
    [winter, 'Asia/Kathmandu', '2026-01-15T17:45:00+05:45'],
    [summer, 'America/St_Johns', '2026-07-15T21:00:00-02:30'],
    [summer, 'Pacific/Kiritimati', '2026-07-16T13:30:00+14:00'],
    [Date.UTC(2026, 0, 15), 'Etc/UTC', '2026-01-15T00:00:00+00:00'],
    [winter, 'Nowhere/Land', '2026-01-15T12:00:00+00:00'],
  ] as const) {
    test.equal(isoInZone(at, zone), iso, zone)
  }
})
