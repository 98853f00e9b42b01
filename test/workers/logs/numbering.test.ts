import t from 'tap'
import { Numbering } from '../../../workers/logs/numbering.ts'

const taker =
  (numbering: Numbering) =>
  (number: number, pid = 1, now_ms = 0) =>
    numbering.take({ pid, frontend: 'f', number }, now_ms)

t.test('a number that is missing for five seconds is lost; a late one is not', async (test) => {
  const numbering = new Numbering()
  const take = taker(numbering)
  for (const number of [0, 1, 4, 3]) test.equal(take(number), true)
  test.equal(numbering.lost(4_999), 0)
  test.equal(numbering.lost(5_000), 1, 'two are missing')
  test.equal(numbering.lost(9_999), 0, 'and are reported once')
})

t.test('a repeated number replaces the omitted one', async (test) => {
  const numbering = new Numbering()
  const take = taker(numbering)
  for (const number of [0, 1, 1, 3]) test.equal(take(number), true)
  test.equal(numbering.lost(5_000), 0)
  for (const number of [4, 6, 4]) test.equal(take(number), true)
  test.equal(numbering.lost(10_000), 0)
})

t.test('repeated lines are accepted once', async (test) => {
  const numbering = new Numbering()
  const take = taker(numbering)
  for (const number of [0, 1, 2]) take(number)
  numbering.again(1, 0)
  test.strictSame(
    [0, 1, 2, 3, 4].map((number) => take(number)),
    [false, false, false, true, true],
  )
  const restarted = taker(new Numbering(JSON.parse(JSON.stringify(numbering.seen))))
  test.strictSame(
    [3, 4, 5].map((number) => restarted(number)),
    [false, false, true],
  )
  test.equal(restarted(0, 2), true, 'another process has its own numbers')
})

t.test('a line that was late at the end is accepted by the next run, or counted', async (test) => {
  const numbering = new Numbering()
  const take = taker(numbering)
  for (const number of [0, 2, 4]) take(number)
  const kept = JSON.parse(JSON.stringify({ seen: numbering.seen, holes: numbering.holes }))
  const next = new Numbering(kept.seen, kept.holes)
  test.equal(next.lost(60_000), 0, 'it has not been read yet')
  next.again(1, 60_000)
  // The process sends everything once more, the late one included.
  test.strictSame(
    [0, 1, 2, 4, 5].map((number) => taker(next)(number, 1, 60_000)),
    [false, true, false, false, true],
  )
  test.equal(next.lost(64_999), 0)
  test.equal(next.lost(65_000), 1, 'number 3')
  test.strictSame([next.seen, next.holes], [{ '1 f': 6 }, {}])
})

t.test('a large gap is a loss at once, and so are missing lines of an ended process', async (test) => {
  const numbering = new Numbering()
  const take = taker(numbering)
  take(50_000)
  test.equal(numbering.lost(0), 50_000)
  take(50_002)
  numbering.keepOnly(new Set([2]))
  test.equal(numbering.lost(0), 1)
  test.strictSame(numbering.seen, {})
})
