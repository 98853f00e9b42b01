/**
 * Three nodes of a cluster on the etcd of Debian 13, which edit concurrently while daemons and members are killed,
 * suspended and ended; an independent model judges every answer. `FULCRUM_TEST_HISTORY_SECONDS=600 npm test --
 * --timeout=1800 test/system/cluster-history-1.test.ts`; `FULCRUM_TEST_HISTORY_SEED` chooses another history.
 */
import t from 'tap'
import { liveThroughFaults, skip } from './cluster-history/run.ts'

const SECONDS = Number(process.env['FULCRUM_TEST_HISTORY_SECONDS'] ?? 20)
const SEED = Number(process.env['FULCRUM_TEST_HISTORY_SEED'] ?? 1)

t.setTimeout(0)

t.test('edits on three nodes under faults', { skip }, async (test) => {
  await liveThroughFaults(test, SEED, SECONDS)
})
