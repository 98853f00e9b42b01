import t from 'tap'
import { RingWriter } from '../../../storage/archive/ring.ts'
import { METRIC_COUNT } from '../../../storage/archive/tiers.ts'
import { SecondSums } from '../../../workers/archive/second-sums.ts'

const T = 1_700_000_000
const [SESSIONS, ERRORS, QUEUE, RESPONSE_TIME, TOTAL_TIME] = [0, 10, 11, 12, 14]

/** A row of HAProxy with these gauges. */
function row(values: Readonly<Record<number, number>>): Float64Array {
  return Float64Array.from({ length: METRIC_COUNT }, (_, metric) => values[metric] ?? Number.NaN)
}
const sessions = (count: number) => row({ [SESSIONS]: count })

function bench() {
  const ring = new RingWriter()
  ring.own(0, 1)
  ring.reset(T)
  const sums = new SecondSums()
  sums.room(1)
  return { ring, sums, value: (second: number, metric: number) => ring.get(0, second, metric) }
}

t.test('gauges of one poll add up, those of the next replace them; increments add up until cleared', async (t) => {
  const { ring, sums, value } = bench()
  sums.gauges(0, sessions(5), 0, 1, true)
  sums.add(0, 0, 10)
  sums.gauges(0, sessions(2), 0, 2, true)
  sums.gauges(0, sessions(1), 0, 2, true)
  sums.add(0, 0, 1)
  sums.write(ring, T, { n: 1, index: 0, poll: 2, unknown: false })
  t.strictSame([value(T, 0), value(T, 1), value(T, 2)], [3, 11, 0])
  sums.clear()
  sums.gauges(0, sessions(1), 0, 3, true)
  sums.write(ring, T + 1, { n: 1, index: 0, poll: 3, unknown: false })
  t.strictSame([value(T + 1, 0), value(T + 1, 1)], [1, 0])
})

t.test('over several seconds the sum is kept and the gauge is known only in the last one', async (t) => {
  const { ring, sums, value } = bench()
  sums.gauges(0, sessions(7), 0, 1, true)
  sums.add(0, 0, 11)
  for (let index = 0; index < 3; index++) sums.write(ring, T + index, { n: 3, index, poll: 1, unknown: false })
  t.equal(value(T, 1) + value(T + 1, 1) + value(T + 2, 1), 11)
  t.strictSame([value(T, 0), value(T + 1, 0), value(T + 2, 0)], [Number.NaN, Number.NaN, 7])
})

t.test('unknown stays unknown', async (t) => {
  const { ring, sums, value } = bench()
  sums.gauges(0, sessions(7), 0, 1, true)
  sums.add(0, 1, Number.NaN)
  sums.add(0, 1, 3)
  sums.write(ring, T, { n: 1, index: 0, poll: 1, unknown: false })
  t.strictSame([value(T, 1), value(T, 2)], [0, Number.NaN])
  sums.write(ring, T + 1, { n: 1, index: 0, poll: 1, unknown: true })
  t.strictSame([value(T + 1, 0), value(T + 1, 1)], [7, Number.NaN])
  sums.write(ring, T + 2, { n: 1, index: 0, poll: 2, unknown: false })
  t.strictSame(value(T + 2, 0), Number.NaN, 'a gauge of an earlier poll')
})

t.test('gauges of processes are added, averages are those of the current one, in any order', async (t) => {
  const now = row({ [SESSIONS]: 5, [QUEUE]: 2, [RESPONSE_TIME]: 30, [TOTAL_TIME]: 0 })
  const old = row({ [SESSIONS]: 1, [QUEUE]: 1, [RESPONSE_TIME]: 900, [TOTAL_TIME]: 900 })
  for (const [first, second] of [
    [now, old],
    [old, now],
  ] as const) {
    const { ring, sums, value } = bench()
    sums.gauges(0, first, 0, 1, first === now)
    sums.gauges(0, second, 0, 1, second === now)
    sums.write(ring, T, { n: 1, index: 0, poll: 1, unknown: false })
    const told = [SESSIONS, QUEUE, RESPONSE_TIME, TOTAL_TIME].map((metric) => value(T, metric))
    t.strictSame(told, [6, 3, 30, 0])
  }
  const { ring, sums, value } = bench()
  sums.gauges(0, old, 0, 1, false)
  sums.write(ring, T, { n: 1, index: 0, poll: 1, unknown: false })
  t.strictSame([value(T, QUEUE), value(T, RESPONSE_TIME)], [1, Number.NaN], 'only an old process has the object')
})

t.test('missing counters of a source are unknown, not zero', async (t) => {
  const { ring, value } = bench()
  const sums = new SecondSums(3)
  sums.room(1)
  sums.gauges(0, sessions(1), 0, 1, true)
  sums.add(0, 2, 5)
  sums.write(ring, T, { n: 1, index: 0, poll: 1, unknown: false })
  t.strictSame([value(T, 1), value(T, 3), value(T, 4), value(T, ERRORS)], [0, 5, Number.NaN, Number.NaN])
})
