import t from 'tap'
import { RingWriter } from '../../../storage/archive/ring.ts'
import { SecondSums } from '../../../workers/archive/second-sums.ts'

const T = 1_700_000_000

function bench() {
  const ring = new RingWriter()
  ring.own(0, 1)
  ring.reset(T)
  const sums = new SecondSums()
  sums.room(1)
  return { ring, sums, value: (second: number, metric: number) => ring.get(0, second, metric) }
}

t.test(
  'gauges of one poll add up, those of the next replace them; increments add up until they are cleared',
  async (t) => {
    const { ring, sums, value } = bench()
    sums.gauge(0, 5, 1)
    sums.add(0, 0, 10)
    sums.gauge(0, 2, 2)
    sums.gauge(0, 1, 2)
    sums.add(0, 0, 1)
    sums.write(ring, T, { n: 1, index: 0, poll: 2, unknown: false })
    t.strictSame([value(T, 0), value(T, 1), value(T, 2)], [3, 11, 0])
    sums.clear()
    sums.gauge(0, 1, 3)
    sums.write(ring, T + 1, { n: 1, index: 0, poll: 3, unknown: false })
    t.strictSame([value(T + 1, 0), value(T + 1, 1)], [1, 0])
  },
)

t.test('over several seconds the sum is kept and the gauge is known in the last one only', async (t) => {
  const { ring, sums, value } = bench()
  sums.gauge(0, 7, 1)
  sums.add(0, 0, 11)
  for (let index = 0; index < 3; index++) sums.write(ring, T + index, { n: 3, index, poll: 1, unknown: false })
  t.equal(value(T, 1) + value(T + 1, 1) + value(T + 2, 1), 11)
  t.strictSame([value(T, 0), value(T + 1, 0), value(T + 2, 0)], [Number.NaN, Number.NaN, 7])
})

t.test('unknown stays unknown', async (t) => {
  const { ring, sums, value } = bench()
  sums.gauge(0, 7, 1)
  sums.add(0, 1, Number.NaN)
  sums.add(0, 1, 3)
  sums.write(ring, T, { n: 1, index: 0, poll: 1, unknown: false })
  t.strictSame([value(T, 1), value(T, 2)], [0, Number.NaN])
  sums.write(ring, T + 1, { n: 1, index: 0, poll: 1, unknown: true })
  t.strictSame([value(T + 1, 0), value(T + 1, 1)], [7, Number.NaN])
  sums.write(ring, T + 2, { n: 1, index: 0, poll: 2, unknown: false })
  t.strictSame(value(T + 2, 0), Number.NaN, 'a gauge of an earlier poll')
})
