import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Events } from '../../src/events.ts'
import { Jobs } from '../../src/jobs.ts'
import { silentLog } from '../../src/log.ts'
import { MachineCare } from '../../src/machine-care.ts'
import { recordingMachine } from '../appliance-fixture.ts'
import { openStore, refuses, temporaryFolder } from '../config-fixture.ts'
import { manualClock } from '../manual-clock.ts'
import { until } from '../system/api-client.ts'
import { viewOf } from '../view-fixture.ts'

t.test('folders of work that nobody asks about any more go at the start; an observer changes nothing', async (test) => {
  const store = openStore(test)
  const stateFolder = temporaryFolder(test, 'care')
  const clock = manualClock()
  const events = new Events(store.events, clock, silentLog)
  const jobs = new Jobs(store.jobs, events, clock, silentLog)
  let isObserver = false
  const care = new MachineCare({
    jobs,
    events,
    machine: recordingMachine(stateFolder),
    store,
    running: viewOf({}),
    engine: () => ({ busy: false }),
    assertStill: () => undefined,
    refuseObserver: () => {
      if (isObserver) throw new Error('observer')
    },
    nodeId: 'node-1',
    stateFolder,
    clock,
    log: silentLog,
  })
  test.teardown(() => care.close())
  const kinds = care.kinds.map(({ kind }) => kind)
  test.equal(new Set(kinds).size, kinds.length)
  test.ok(
    care.kinds.every(({ resume }) => resume !== undefined),
    'each is taken up after a restart',
  )
  const id = await jobs.start({ kind: 'x', title: 'X', group: 'x', work: async () => undefined }, {}, 'a@b')
  for (const name of [id, 'gone']) mkdirSync(join(stateFolder, 'jobs', name), { recursive: true })
  care.start()
  await until('tidy', async () => !existsSync(join(stateFolder, 'jobs/gone')))
  test.ok(existsSync(join(stateFolder, 'jobs', id)))
  isObserver = true
  await test.rejects(care.updates.start('a@b'), /observer/)
  await test.rejects(care.updates.upload(''), /observer/)
  await test.rejects(care.updates.startMajor('1', 'a@b'), /observer/)
  await test.rejects(care.snapshots.create('a@b'), /observer/)
  await test.rejects(care.snapshots.restore(true, 'a@b'), /observer/)
  await test.rejects(care.snapshots.remove('a@b'), /observer/)
  test.throws(() => care.power.request('halt', { drain_s: 0, isForced: false, by: 'a@b' }), /observer/)
})

t.test('while the configuration is being applied, packages wait', async (test) => {
  const store = openStore(test)
  const stateFolder = temporaryFolder(test, 'care')
  const clock = manualClock()
  const events = new Events(store.events, clock, silentLog)
  const care = new MachineCare({
    jobs: new Jobs(store.jobs, events, clock, silentLog),
    events,
    machine: recordingMachine(stateFolder),
    store,
    running: viewOf({}),
    engine: () => ({ busy: true }),
    assertStill: () => undefined,
    refuseObserver: () => undefined,
    nodeId: 'node-1',
    stateFolder,
    clock,
    log: silentLog,
  })
  await refuses(test, 'APPLY_IN_PROGRESS', care.updates.start('a@b'))
})
