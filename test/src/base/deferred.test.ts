import t from 'tap'
import { defer } from '../../../src/base/deferred.ts'

t.test('it is settled from outside, once', async (t) => {
  const done = defer()
  done.resolve()
  done.reject(new Error('too late'))
  await t.resolves(done.promise)
  const failed = defer()
  failed.reject(new Error('no'))
  await t.rejects(failed.promise, /no/)
})
