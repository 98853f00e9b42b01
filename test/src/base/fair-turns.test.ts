import t, { type Test } from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { FairTurns } from '../../../src/base/fair-turns.ts'

/** One at a time; each task ends when the test says so. */
function fixture(_test: Test, waitingEach_max: number, waiting_max: number) {
  const turns = new FairTurns({ concurrent: 1, waitingEach_max, waiting_max, busy: 'too many' })
  const begun: string[] = []
  const refused: string[] = []
  const ends: (() => void)[] = []
  const ask = (place: string) =>
    turns
      .run(place, () => {
        begun.push(place)
        return new Promise<void>((resolve) => ends.push(resolve))
      })
      .catch((error: unknown) => refused.push(`${place} ${error instanceof ApiError ? error.code : ''}`))
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  const endAll = async () => {
    while (ends.length > 0) {
      ends.shift()?.()
      await settle()
    }
  }
  return { ask, begun, refused, settle, endAll }
}

t.test('places take turns, however much one of them requests', async (test) => {
  const { ask, begun, endAll } = fixture(test, 10, 100)
  const all = ['a', 'a', 'a', 'a', 'b', 'c', 'b'].map(ask)
  await endAll()
  await Promise.all(all)
  test.same(begun, ['a', 'a', 'b', 'c', 'a', 'b', 'a'])
})

t.test('one place may not have more than its share waiting', async (test) => {
  const { ask, begun, refused, endAll } = fixture(test, 2, 100)
  const all = ['a', 'a', 'a', 'a', 'a', 'b'].map(ask)
  await endAll()
  await Promise.all(all)
  test.same(refused, ['a RATE_LIMITED', 'a RATE_LIMITED'])
  test.same(begun, ['a', 'a', 'b', 'a'])
})

t.test('when too many wait, the place with most of them loses its newest', async (test) => {
  const { ask, begun, refused, endAll } = fixture(test, 10, 4)
  const all = ['x', 'a', 'a', 'a', 'b', 'c', 'd'].map(ask)
  await endAll()
  await Promise.all(all)
  test.same(refused, ['a RATE_LIMITED', 'a RATE_LIMITED'])
  test.same(begun, ['x', 'a', 'b', 'c', 'd'])
})

t.test('failing work passes its turn on', async (test) => {
  const turns = new FairTurns({ concurrent: 1, waitingEach_max: 5, waiting_max: 5, busy: 'too many' })
  const failing = turns.run('a', () => Promise.reject(new Error('no')))
  const next = turns.run('b', async () => 'done')
  await test.rejects(failing, /no/)
  test.equal(await next, 'done')
})
