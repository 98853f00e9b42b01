import t from 'tap'
import { Editing } from '../../src/config/editing.ts'
import { RunningLifecycle } from '../../src/lifecycle.ts'
import { silentLog } from '../../src/log.ts'
import { InlinePool } from '../../src/worker-pool.ts'
import * as computeTasks from '../../workers/compute.ts'
import { recordingMachine, stillFacts } from '../appliance-fixture.ts'
import { openStore, temporaryFolder } from '../config-fixture.ts'
import { manualClock } from '../manual-clock.ts'

t.test('a job of a kind that nobody knows any more has failed after a restart', async (test) => {
  const store = openStore(test)
  const stateFolder = temporaryFolder(test, 'lifecycle')
  const parts = {
    store,
    stateFolder,
    auditDays: 90,
    assertStill: () => undefined,
    compute: new InlinePool(computeTasks),
    clock: manualClock(),
    log: silentLog,
    nodeId: 'node-1',
    editing: new Editing(store),
    facts: stillFacts(),
    machine: recordingMachine(stateFolder),
    refuseObserver: () => undefined,
    engine: () => ({
      busy: false,
      isApplying: false,
      validate: async () => undefined,
      patch: async () => {
        throw new Error('nothing is applied here')
      },
    }),
    connections: () => 0,
  }
  const before = new RunningLifecycle(parts)
  const work = () => new Promise<never>(() => undefined)
  const id = await before.jobs.start({ kind: 'gone', title: 'Gone', group: 'g', work }, {}, 'a@b')
  const after = new RunningLifecycle(parts)
  after.start()
  // The end is told when the promise of the work is settled.
  await new Promise((resolve) => setImmediate(resolve))
  await after.close()
  test.match(after.jobs.get(id), { state: 'failed' })
})
