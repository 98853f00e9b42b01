/** The same as `cluster-history-1.test.ts` with another seed, in parallel. */
import t from 'tap'
import { liveThroughFaults, skip } from './cluster-history/run.ts'

const SECONDS = Number(process.env['FULCRUM_TEST_HISTORY_SECONDS'] ?? 20)
const SEED = Number(process.env['FULCRUM_TEST_HISTORY_SEED'] ?? 1) + 1

t.setTimeout(0)

t.test('edits on three nodes under other faults', { skip }, async (test) => {
  await liveThroughFaults(test, SEED, SECONDS)
})
