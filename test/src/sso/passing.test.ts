import t from 'tap'
import { Passing } from '../../../src/sso/passing.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('a value is had once, by who holds its key, for a while', async (test) => {
  const clock = manualClock()
  const passing = new Passing<string>(clock, 1000, 3)
  const key = passing.keep('a')
  test.match(key, /^[A-Za-z0-9_-]{43}$/)
  test.equal(passing.get('other'), undefined)
  test.equal(passing.get(key), 'a')
  test.equal(passing.take(key), 'a')
  test.equal(passing.take(key), undefined)
  const late = passing.keep('b')
  clock.advance(1000)
  test.equal(passing.take(late), undefined)
})

t.test('the oldest makes room', async (test) => {
  const passing = new Passing<number>(manualClock(), 1000, 3)
  const keys = [1, 2, 3, 4].map((value) => passing.keep(value))
  test.same(
    keys.map((key) => passing.get(key)),
    [undefined, 2, 3, 4],
  )
})
