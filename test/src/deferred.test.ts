import t from 'tap'
import { deferred } from '../../src/deferred.ts'

t.test('it is settled from outside, once', async (t) => {
  const done = deferred()
  done.resolve()
  done.reject(new Error('too late'))
  await t.resolves(done.promise)
  const failed = deferred()
  failed.reject(new Error('no'))
  await t.rejects(failed.promise, /no/)
})
