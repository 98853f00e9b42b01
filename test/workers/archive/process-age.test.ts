import t from 'tap'
import { beganAfter, beganSince, isAnother } from '../../../workers/archive/process-age.ts'

t.test('only a process that can have begun since the last poll counts from zero', async (t) => {
  t.ok(beganSince(0, 1, true))
  t.ok(beganSince(4, 1, true), 'it read a large file before it answered')
  t.notOk(beganSince(25, 1, true), 'it existed before, and served others')
  t.ok(beganSince(undefined, 1, true))
  t.ok(beganSince(9, 10, false), 'begun while the daemon was away')
  t.notOk(beganSince(11, 10, false))
  t.notOk(beganSince(undefined, 10, false))
})

t.test('a reused process id is noticed by the age', async (t) => {
  const before = { uptime_s: 100, took_s: 0, heard_s: 50 }
  t.notOk(isAnother(before, { uptime_s: 101, took_s: 0, heard_s: 51 }))
  t.notOk(isAnother(before, { uptime_s: 130, took_s: 0, heard_s: 80 }), 'after half a minute without an answer')
  t.ok(isAnother(before, { uptime_s: 9_000, took_s: 0, heard_s: 51 }))
  t.ok(isAnother(before, { uptime_s: 3, took_s: 0, heard_s: 80 }))
  t.notOk(
    isAnother({ uptime_s: undefined, took_s: 0, heard_s: 0 }, { uptime_s: 3, took_s: 0, heard_s: 80 }),
    'nothing is known',
  )
})

t.test('a delayed poll reports an age from long before its end', async (t) => {
  t.ok(beganAfter(1, 2.5, 0))
  t.notOk(beganAfter(1, 2.5, 0.6), 'it may be as old as at the previous poll')
  const young = { uptime_s: 0, heard_s: 50, took_s: 0.01 }
  t.notOk(isAnother(young, { uptime_s: 1, heard_s: 53, took_s: 2 }))
  t.ok(isAnother(young, { uptime_s: 1, heard_s: 53, took_s: 0.01 }))
  t.notOk(isAnother({ ...young, took_s: 8 }, { uptime_s: 9, heard_s: 51, took_s: 0.01 }), 'the previous poll was')
  t.ok(isAnother(young, { uptime_s: 9, heard_s: 51, took_s: 0.01 }))
})

t.test('an age that matches a step of the wall clock belongs to the same process', async (test) => {
  const before = { uptime_s: 100, took_s: 0, heard_s: 50, wall_s: 1_000 }
  test.notOk(isAnother(before, { uptime_s: 3_701, took_s: 0, heard_s: 51, wall_s: 4_601 }), 'an hour forward')
  test.notOk(isAnother(before, { uptime_s: 40, took_s: 0, heard_s: 51, wall_s: 940 }), 'a minute back')
  test.notOk(isAnother(before, { uptime_s: 101, took_s: 0, heard_s: 51, wall_s: 4_601 }), 'one that ignores it')
  const young = { uptime_s: 3, took_s: 0, heard_s: 50, wall_s: 1_000 }
  test.notOk(isAnother(young, { uptime_s: 1, took_s: 0, heard_s: 53, wall_s: 998 }), 'a young one, and 5 s back')
  test.ok(isAnother(before, { uptime_s: 3, took_s: 0, heard_s: 51, wall_s: 1_001 }), 'a process that has just begun')
  test.ok(isAnother(before, { uptime_s: 3_701, took_s: 0, heard_s: 51 }), 'nothing is known of the wall clock')
})
