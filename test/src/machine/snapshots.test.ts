import t, { type Test } from 'tap'
import type { Step } from '../../../src/drivers/driver.ts'
import type { Job } from '../../../src/model/job.ts'
import { Snapshots } from '../../../src/machine/snapshots.ts'
import { silentLog } from '../../../src/base/log.ts'
import { checkPlan, executePlan } from '../../../workers/executor.ts'
import { RecordingHost } from '../../../workers/host/recording-host.ts'
import { readVolume } from '../../../workers/probe/snapshot.ts'
import { applianceFixture, stillFacts } from '../../fixtures/appliance.ts'
import { refuses } from '../../fixtures/config.ts'
import { LvmSimulator } from '../../simulators/lvm-simulator.ts'
import { snapshotConformance } from '../../simulators/snapshot-conformance.ts'
import { until } from '../../fixtures/until.ts'

async function fixture(test: Test, lvm = new LvmSimulator()) {
  // The simulator answers in the same turn.
  const host = new RecordingHost()
  host.run = lvm.run
  const machine = {
    executor: {
      execute: (steps: readonly Step[]) => executePlan(host, steps),
      check: (steps: readonly Step[]) => checkPlan(host, steps),
    },
    facts: stillFacts({ volume: () => readVolume(lvm.run) }),
    touchesPackages: true,
    statsSocket: undefined,
  }
  const { call, node } = await applianceFixture(test, {}, machine)
  const ended = async (id: string): Promise<Job> => {
    const read = async (): Promise<Job> => (await call('GET', `/jobs/${id}`)).json.data
    await until('end', async () => (await read()).state !== 'running')
    return read()
  }
  const request = async (method: string, path: string, body?: unknown) => {
    const { status, json, text } = await call(method, `/${node}${path}`, body === undefined ? {} : { body })
    return { status, data: json.data, job: json.job, text }
  }
  return { lvm, call, node, ended, request }
}

t.test('no snapshot, one, none', async (test) => {
  const { lvm, ended, request } = await fixture(test)
  await snapshotConformance(test, { request, ended })
  test.same(lvm.calls, [
    'lvcreate --yes --snapshot --name fulcrum --size 2147483648b vg0/root',
    'lvremove --yes vg0/fulcrum',
  ])
})

t.test(
  'as large as the origin where there is space, and refused with numbers where there is too little',
  async (test) => {
    const roomy = await fixture(test, new LvmSimulator({ root_mib: 1024, free_mib: 4096 }))
    const { job } = await roomy.request('POST', '/lvmsnapshots')
    await roomy.ended(job)
    test.match((await roomy.request('GET', '/lvmsnapshots')).data, { size: '1024.00 MiB', used: '0.00%' })
    const tight = await fixture(test, new LvmSimulator({ root_mib: 8192, free_mib: 800 }))
    const refused = await tight.request('POST', '/lvmsnapshots')
    test.equal(refused.status, 501)
    test.match(refused.text, /800\.00 MiB free.*8192\.00 MiB needs 819\.20 MiB/)
    test.same(tight.lvm.calls, [])
  },
)

t.test('a restore without a restart waits for one; nothing else is possible until then', async (test) => {
  const { lvm, request, ended } = await fixture(test)
  await ended((await request('POST', '/lvmsnapshots')).job)
  lvm.fill(12.344)
  test.match((await request('GET', '/lvmsnapshots')).data, { status: 'available', used: '12.34%' })
  const restore = await request('PUT', '/lvmsnapshots', { reboot: false })
  test.match(restore, { status: 202, data: [] })
  const job = await ended(restore.job)
  test.match(job, { state: 'succeeded', result: { status: 'merging', rebootRequired: true } })
  test.match((await request('GET', '/lvmsnapshots')).data, { status: 'merging' })
  for (const method of ['POST', 'DELETE'] as const) test.equal((await request(method, '/lvmsnapshots')).status, 409)
  test.equal((await request('PUT', '/lvmsnapshots', {})).status, 409)
  test.notOk(lvm.calls.some((line) => line.startsWith('systemctl')))
})

t.test('a restore restarts the machine unless told otherwise', async (test) => {
  const { lvm, request, ended } = await fixture(test)
  await ended((await request('POST', '/lvmsnapshots')).job)
  const job = await ended((await request('PUT', '/lvmsnapshots', {})).job)
  test.match(job, { state: 'succeeded', result: { rebootRequired: false } })
  await until('restart', async () => lvm.calls.includes('systemctl --no-wall --no-block reboot'))
})

t.test('a full snapshot is invalid: it can only be deleted', async (test) => {
  const { lvm, request, ended } = await fixture(test)
  await ended((await request('POST', '/lvmsnapshots')).job)
  lvm.fill(100)
  test.match((await request('GET', '/lvmsnapshots')).data, { status: 'invalid', used: '100.00%' })
  test.equal((await request('PUT', '/lvmsnapshots', {})).status, 501)
  await ended((await request('DELETE', '/lvmsnapshots')).job)
  test.match((await request('GET', '/lvmsnapshots')).data, { status: 'none' })
})

t.test('the name of the snapshot may be that of another volume: nothing that needs one begins', async (test) => {
  const lvm = new LvmSimulator({ others: ['fulcrum'] })
  const { request } = await fixture(test, lvm)
  test.match((await request('GET', '/lvmsnapshots')).data, { status: 'none' })
  const refused = await request('POST', '/lvmsnapshots')
  test.equal(refused.status, 409)
  test.match(refused.text, /vg0 has another volume.*fulcrum; rename it.*"NAME_NOT_UNIQUE"/s)
  test.equal((await request('DELETE', '/lvmsnapshots')).status, 404)
  test.same(lvm.calls, [], 'and it stays')
})

t.test('no LVM, or none under the root file system: 501 with the reason, before a job', async (test) => {
  const bare = await fixture(test, new LvmSimulator({ missing: ['lvs'] }))
  for (const method of ['GET', 'POST', 'DELETE'] as const) {
    const { status, text } = await bare.request(method, '/lvmsnapshots')
    test.equal(status, 501)
    test.match(text, /lvm2 is not installed/)
  }
  test.same((await bare.call('GET', '/jobs')).json.data, [])
})

t.test('in trial a snapshot is only recorded', async (test) => {
  const { call, node, machine } = await applianceFixture(test)
  const answer = await call('POST', `/${node}/lvmsnapshots`)
  test.match(answer, { status: 202, headers: { 'X-Dry-Run': 'true' } })
  test.equal(answer.headers['Location'], `/api/v1/jobs/${answer.json.job}`)
  const job = async () => (await call('GET', `/jobs/${answer.json.job}`)).json.data
  await until('end', async () => (await job()).state === 'succeeded')
  test.match(await job(), { result: { recorded: true } })
  test.match(machine.host.journal, [{ verb: 'run', argv: ['lvcreate'] }])
})

t.test('the state of a job after a restart of the daemon; operations that wait for package changes', async (test) => {
  const lvm = new LvmSimulator()
  let packages: Job | undefined
  const open = (bootId: string) =>
    new Snapshots({
      jobs: { start: async () => 'job', list: () => [], running: () => packages },
      machine: {
        executor: { execute: (steps) => executePlan(Object.assign(new RecordingHost(), { run: lvm.run }), steps) },
        facts: { volume: () => readVolume(lvm.run) },
        touchesPackages: true,
      },
      clock: { bootId },
      power: { begin: () => undefined, refuseGoingDown: () => undefined },
      log: silentLog,
    })
  const job = {
    id: 'job',
    signal: new AbortController().signal,
    ending: new AbortController().signal,
    report: () => undefined,
  }
  const resume = async (snapshots: Snapshots) =>
    snapshots.kinds.find(({ kind }) => kind === 'snapshot.create')?.resume?.(job, { bootId: 'one' } as never)
  await refuses(test, 'APPLY_PARTIAL', resume(open('one')))
  await lvm.run(await open('one').createArgv())
  test.match(await resume(open('one')), { status: 'available' }, 'it was created, only the end was missed')
  await lvm.run(['lvconvert', '--yes', '--merge', 'vg0/fulcrum'])
  lvm.restart()
  const after = open('two')
  test.same(await resume(after), { restored: true }, 'the restored machine has the job that made the snapshot')
  void after.finishMerge()
  await until('look', async () => lvm.calls.at(-1)?.startsWith('lvchange') === true)
  after.close()
  test.equal(lvm.calls.at(-1), 'lvchange --poll y vg0/root')
  test.match(await after.status(), { status: 'none' })
  test.same(await resume(after), { restored: true })
  // It reads the volume, and meanwhile an update begins.
  const late = after.create('a@b')
  packages = { id: 'p', title: 'Software update' } as Job
  await refuses(test, 'JOB_IN_PROGRESS', late)
  for (const refused of [after.create('a@b'), after.restore(true, 'a@b'), after.remove('a@b')]) {
    await refuses(test, 'JOB_IN_PROGRESS', refused)
  }
})
