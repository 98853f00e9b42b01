import t from 'tap'
import { runInPlace, Places } from '../../../src/base/places.ts'
import { refuses } from '../../fixtures/config.ts'

const places = () => new Places({ what: 'searches', all_max: 3, each_max: 2, retryAfter_s: 7 })

t.test('TOO_MANY_AT_ONCE: more of one user than its share, or more in total; the message says which', async (test) => {
  const made = places()
  const free = made.take('a')
  made.take('a')
  const own = await refuses(test, 'TOO_MANY_AT_ONCE', () => made.take('a'))
  test.match(own.message, /^2 searches of yours are running/)
  test.match(own.details.headers, { 'Retry-After': '7' })
  made.take('b')
  test.match((await refuses(test, 'TOO_MANY_AT_ONCE', () => made.take('c'))).message, /^3 searches are running/)
  free()
  free()
  test.equal(made.open, 2, 'a place is returned once')
  made.take('c')
})

t.test('a place is returned when the work has ended, however it ends', async (test) => {
  const made = places()
  test.equal(
    runInPlace(made, 'a', () => made.open),
    1,
  )
  test.throws(() =>
    runInPlace(made, 'a', () => {
      throw new Error('no')
    }),
  )
  test.equal(made.open, 0)
  const late = runInPlace(made, 'a', () => Promise.reject(new Error('late')))
  test.equal(made.open, 1)
  await test.rejects(Promise.resolve(late), /late/)
  test.equal(made.open, 0)
})
