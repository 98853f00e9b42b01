import t from 'tap'
import { lazy } from '../../../src/base/lazy.ts'

t.test('it is created on first use, and once', async (t) => {
  let count = 0
  const made = lazy(() => {
    count += 1
    return undefined
  })
  t.equal(count, 0)
  t.equal(made(), undefined)
  t.equal(made(), undefined)
  t.equal(count, 1)
})

t.test('a failed creation is retried', async (t) => {
  let count = 0
  const made = lazy(() => {
    count += 1
    if (count === 1) throw new Error('not yet')
    return count
  })
  t.throws(made, { message: 'not yet' })
  t.equal(made(), 2)
})
