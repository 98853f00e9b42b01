/** Proves the history test: without the guard of the log, its checker finds the violations. */
import t from 'tap'
import { liveWithoutGuard, skip } from './cluster-history/run.ts'

t.setTimeout(0)

t.test('without the guard, entries overwrite each other', { skip }, async (test) => {
  const violations = await liveWithoutGuard(test, 1)
  test.comment(`${violations.length} violations: ${violations.slice(0, 5).join('; ')}`)
  test.ok(violations.length > 0)
})
