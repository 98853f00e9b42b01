/**
 * Three machines in containers, with everything that an appliance runs, under traffic and edits, while programs are
 * killed and suspended, networks are cut and disks fill up; a client and observers outside of the nodes judge.
 * `npm run test:faults` is an hour; `FULCRUM_TEST_FAULT_SEED` chooses other faults.
 */
import t from 'tap'
import { liveThroughFaults } from './failover-faults/run.ts'
import { siteObstacle } from './site-machines.ts'

const SECONDS = Number(process.env['FULCRUM_TEST_FAULT_SECONDS'] ?? 5)
const SEED = Number(process.env['FULCRUM_TEST_FAULT_SEED'] ?? 1)
const LEAST = 2

t.setTimeout(0)

t.test('floating IPs and edits of three nodes under faults', { skip: siteObstacle ?? false }, async (test) => {
  await liveThroughFaults(test, SEED, SECONDS, LEAST)
})
