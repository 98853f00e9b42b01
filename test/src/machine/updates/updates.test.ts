import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Unconfirmed } from '../../../../storage/config/config-store.ts'
import { defer } from '../../../../src/base/deferred.ts'
import { ApiError } from '../../../../src/base/errors.ts'
import { silentLog } from '../../../../src/base/log.ts'
import type { Machine } from '../../../../src/machine/machine.ts'
import { Updates } from '../../../../src/machine/updates/updates.ts'
import type { Job } from '../../../../src/model/job.ts'
import type { PendingPackage } from '../../../../src/model/software.ts'
import { applianceFixture, recordingMachine, stillFacts } from '../../../fixtures/appliance.ts'
import { refuses } from '../../../fixtures/config.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { until } from '../../../fixtures/until.ts'

/** test/system/updates.test.ts has a real apt. */

const bash: PendingPackage = {
  name: 'bash',
  summary: 'shell',
  description: '',
  url: '',
  license: '',
  architecture: 'amd64',
  repository: 'Debian:12',
  release: 'stable',
  currentVersion: '1',
  pendingVersion: '2',
  security: false,
}
const MAJOR = {
  versionNumber: '9.0',
  osRelease: 'Debian 13',
  changelogURL: 'https://x.test/',
  osUpdate: false,
  suites: [{ from: 'bookworm', to: 'trixie' }],
}

async function fixture(test: Test, more: Parameters<typeof stillFacts>[0] = {}) {
  let asked = 0
  let stamp = 'one'
  const facts = stillFacts({
    packages: async () => {
      asked += 1
      return { pending: [bash], problem: undefined }
    },
    packagesStamp: async () => stamp,
    ...more,
  })
  const made = await applianceFixture(test, {}, { facts })
  const path = `/${made.node}/system/update`
  const jobEnd = async (id: string) => {
    const read = async () => (await made.call('GET', `/jobs/${id}`)).json.data
    await until('end', async () => (await read()).state !== 'running')
    return read()
  }
  return { ...made, path, jobEnd, asked: () => asked, change: () => (stamp = 'another') }
}

t.test('the answer of apt is kept until something changes', async (test) => {
  const { call, path, asked, change } = await fixture(test)
  for (const _ of ['first', 'again']) {
    const { json } = await call('GET', `${path}/status`)
    const { pendingVersion: _pending, ...shown } = bash
    test.same(json.data, { restartRequired: false, majorVersion: [], details: [shown] })
  }
  test.equal(asked(), 1)
  change()
  await call('GET', `${path}/status`)
  test.equal(asked(), 2)
})

t.test('in trial a forced check asks no repository, and says so', async (test) => {
  const { call, path, machine } = await fixture(test)
  const answer = await call('GET', `${path}/status/force`)
  test.match(answer, { status: 200, headers: { 'X-Dry-Run': 'true' } })
  test.same(answer.json.data, { restartRequired: false, majorVersion: [], details: [bash] })
  test.same(machine.host.journal, [])
})

t.test('no apt: 501; a broken one is reported', async (test) => {
  const none = await fixture(test, { packages: async () => undefined })
  test.equal((await none.call('GET', `${none.path}/status`)).status, 501)
  const broken = await fixture(test, { packages: async () => ({ pending: [], problem: 'E: Unmet dependencies' }) })
  const { status, json } = await broken.call('GET', `${broken.path}/status`)
  test.equal(status, 200)
  test.match(json, { message: /Unmet dependencies/, data: { details: [] } })
})

t.test('in trial an update is a job that only shows what it would do', async (test) => {
  const { call, path, jobEnd, machine } = await fixture(test)
  const answer = await call('PUT', path)
  test.match(answer, {
    status: 202,
    headers: { 'X-Dry-Run': 'true', Location: `/api/v1/jobs/${answer.json.job}` },
    json: { data: [], job: String },
  })
  const job = await jobEnd(answer.json.job)
  test.match(job, { kind: 'update', state: 'succeeded', by: 'admin@localhost' })
  test.ok(job.result.recorded.includes('install updates'))
  const service = await call('PUT', '/services/layer7proxy/update')
  test.match(service, { status: 200, headers: { 'X-Dry-Run': 'true' }, json: { data: [] } })
  test.same(machine.host.journal, [])
})

t.test('one package job at a time', async (test) => {
  let go = () => undefined as void
  const gate = new Promise<void>((resolve) => (go = resolve))
  const held = await fixture(test, {
    updateGround: async () => {
      await gate
      return { lockedFile: undefined, download_bytes: 0, free: [], sources: [] }
    },
  })
  const both = [held.call('PUT', held.path), held.call('PUT', held.path)]
  go()
  const codes = (await Promise.all(both)).map(({ status }) => status)
  test.same(
    codes.toSorted((a, b) => a - b),
    [202, 409],
  )
})

t.test('work that begins during the check of packages excludes an update as well', async (test) => {
  const [looks, goes] = [defer(), defer()]
  const { call, path } = await fixture(test, {
    updateGround: async () => {
      looks.resolve()
      await goes.promise
      return { lockedFile: undefined, download_bytes: 0, free: [], sources: [] }
    },
  })
  const update = call('PUT', path)
  await looks.promise
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.9', port: 80 } })
  test.equal((await call('PUT', '/services/apply', { body: { confirmWithin: 60 } })).status, 200)
  goes.resolve()
  test.match(await update, { status: 409, json: { code: 'APPLY_IN_PROGRESS', message: /waits for confirmation/ } })
})

t.test('an apply that waits for its confirmation comes first', async (test) => {
  const { call, path } = await fixture(test)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.9', port: 80 } })
  test.equal((await call('PUT', '/services/apply', { body: { confirmWithin: 60 } })).status, 200)
  const { status, json } = await call('PUT', path)
  test.match({ status, json }, { status: 409, json: { code: 'APPLY_IN_PROGRESS', message: /waits for confirmation/ } })
  await call('PUT', '/services/apply/confirm')
  test.equal((await call('PUT', path)).status, 202)
})

t.test('a major version that is not offered is refused, with those that are', async (test) => {
  const { call, path, state } = await fixture(test)
  const send = (versionNumber: string) => call('PUT', `${path}/majorversion`, { body: { versionNumber } })
  const none = await send('9.0')
  test.match(none, { status: 422, json: { errors: [{ field: 'versionNumber' }], message: /none/ } })
  writeFileSync(join(state, 'major-versions.json'), JSON.stringify([MAJOR]))
  const { suites: _suites, ...shown } = MAJOR
  test.same((await call('GET', `${path}/status`)).json.data.majorVersion, [shown])
  test.same((await call('GET', `${path}/status/force`)).json.data.majorVersion, ['9.0'])
  test.match(await send('8.0'), { status: 422, json: { message: /9\.0/ } })
  test.match(await send('9.0'), { status: 501, json: { message: /suite bookworm/ } }, 'no source has it')
})

t.test('a major version changes the sources that have its suites', async (test) => {
  const sources = [
    { file: '/etc/apt/sources.list', suites: ['bookworm'] },
    { file: '/etc/apt/sources.list.d/own.list', suites: ['./'] },
  ]
  const updateGround = async () => ({ lockedFile: undefined, download_bytes: 0, free: [], sources })
  const { call, path, state, jobEnd } = await fixture(test, { updateGround })
  writeFileSync(join(state, 'major-versions.json'), JSON.stringify([MAJOR]))
  const { status, json } = await call('PUT', `${path}/majorversion`, { body: { versionNumber: '9.0' } })
  test.equal(status, 202)
  test.notOk('data' in json, 'a message only')
  const job = await jobEnd(json.job)
  test.match(job, { kind: 'update.major', state: 'succeeded' })
  test.ok(job.result.recorded.includes('change the package sources'))
})

t.test('work that begins during the check of packages excludes a change of release as well', async (test) => {
  const [looks, goes] = [defer(), defer()]
  const sources = [{ file: '/etc/apt/sources.list', suites: ['bookworm'] }]
  const { call, path, state } = await fixture(test, {
    updateGround: async () => {
      looks.resolve()
      await goes.promise
      return { lockedFile: undefined, download_bytes: 0, free: [], sources }
    },
  })
  writeFileSync(join(state, 'major-versions.json'), JSON.stringify([MAJOR]))
  const { json } = await call('POST', '/ipvsDirector/rips', { body: { name: 'web', ip: '192.0.2.9', port: 80 } })
  const change = call('PUT', `${path}/majorversion`, { body: { versionNumber: '9.0' } })
  await looks.promise
  const drain = await call('PUT', `/ipvsDirector/rips/${json.data.id}/drain?wait=60s`)
  test.equal(drain.status, 202)
  goes.resolve()
  test.match(await change, { status: 409, json: { code: 'JOB_IN_PROGRESS', message: /Drain of/ } })
})

t.test('uploads are checked also in trial; problems name the field', async (test) => {
  const { call, path, state } = await fixture(test)
  const { status, json } = await call('POST', path, { body: { packages: 'AAAA' } })
  test.match({ status, json }, { status: 422, json: { errors: [{ field: 'packages' }] } })
  mkdirSync(join(state, 'packages'), { recursive: true })
  test.equal((await call('POST', path, { body: {} })).status, 422)
})

t.test('during an apply, or while one waits for its confirmation, packages wait', async (test) => {
  const stateFolder = temporaryFolder(test, 'updates')
  const idle = { start: async () => 'job', running: () => undefined, list: () => [], find: () => undefined }
  const open = (busy: boolean, unconfirmed: Unconfirmed | undefined, running?: Job) =>
    new Updates({
      jobs: { ...idle, running: () => running },
      machine: recordingMachine(stateFolder),
      power: { refuseGoingDown: () => undefined },
      standing: () => ({ sequence: 0 }),
      departure: { refuse: async () => undefined, begin: async () => undefined },
      snapshots: { firstArgv: async () => undefined },
      engine: { busy },
      store: { unconfirmed: () => unconfirmed },
      nodeId: 'node-1',
      stateFolder,
      log: silentLog,
    })
  await refuses(test, 'APPLY_IN_PROGRESS', open(true, undefined).start(false, 'a@b'))
  const waiting = { revision: 7, confirmBy: '2026-01-31T13:45:00.000Z' } as Unconfirmed
  const error = await refuses(test, 'APPLY_IN_PROGRESS', open(false, waiting).start(false, 'a@b'))
  test.match(error.message, /Revision 7 waits for confirmation/)
  const updating = open(false, undefined, { id: 'j', title: 'Software update', kind: 'update' } as Job)
  await refuses(test, 'JOB_IN_PROGRESS', updating.upload('AAAA'))
  const { kinds } = open(false, undefined)
  test.ok(
    kinds.every(({ resume }) => resume !== undefined),
    'each job is resumed after a restart',
  )
})

interface OnAppliance {
  readonly stuck?: boolean
  readonly changed?: string
  readonly keepPackage?: Machine['keepPackage']
}

/** The updates of an appliance, whose packages are changed by a simulated program; `done` has the actions, in order. */
function onAppliance(test: Test, { stuck = false, changed = '', keepPackage }: OnAppliance = {}) {
  const stateFolder = temporaryFolder(test, 'updates')
  const done: string[] = []
  const jobs = new Map<string, Job>()
  const machine = recordingMachine(stateFolder)
  const executor: Machine['executor'] = {
    ...machine.executor,
    async execute(steps) {
      done.push(...steps.map((step) => (step.kind === 'run' ? step.argv.join(' ') : step.kind)))
      return { ok: true, done: steps.length, recorded: 0, warnings: [] }
    },
  }
  const updates = new Updates({
    jobs: {
      start: async (kind, memory, by, about) => {
        const id = about?.id ?? 'job'
        jobs.set(id, { id, kind: kind.kind, state: 'running', step: 'begun', problem: null, result: null, by } as Job)
        done.push(`${kind.kind} ${JSON.stringify(memory)}`)
        return id
      },
      running: () => undefined,
      list: () => [...jobs.values()],
      find: (id) => jobs.get(id),
    },
    machine: { ...machine, executor, touchesPackages: true, ...(keepPackage && { keepPackage }) },
    power: { refuseGoingDown: () => undefined },
    departure: {
      refuse: async (isForced) => {
        if (stuck && !isForced) throw new ApiError('IN_USE', 'nobody could take its addresses')
      },
      begin: async (reason, isForced) => {
        done.push(`departs for ${reason}`)
        if (stuck && !isForced) throw new ApiError('IN_USE', 'nobody has taken its addresses')
      },
    },
    standing: () => ({ sequence: 7 }),
    snapshots: { firstArgv: async () => undefined },
    engine: { busy: false },
    store: { unconfirmed: () => undefined },
    nodeId: 'node-1',
    stateFolder,
    log: silentLog,
  })
  /** As its program leaves it. */
  const leave = (id: string) => {
    const folder = join(stateFolder, 'jobs', id)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'plan.json'), JSON.stringify({ steps: [], repair: [] }))
    writeFileSync(join(folder, 'status.json'), JSON.stringify({ state: 'succeeded', progress: 100, text: '' }))
    writeFileSync(join(folder, 'before'), `${changed} amd64 1 installed\nbash amd64 1 installed\n`)
    writeFileSync(join(folder, 'after'), `${changed} amd64 2 installed\nbash amd64 1 installed\n`)
  }
  const handle = {
    id: 'job',
    signal: new AbortController().signal,
    ending: new AbortController().signal,
    report: () => undefined,
  }
  const work = (memory: object) => updates.kinds.find(({ kind }) => kind === 'update')?.work(handle, memory as never)
  return { updates, done, jobs, leave, work }
}

t.test('a node gives up its duties before its packages change', async (test) => {
  const { updates, done, work } = onAppliance(test, { stuck: true })
  await refuses(test, 'IN_USE', updates.start(false, 'ann'))
  await updates.start(true, 'ann')
  test.match(done.splice(0), [/^update .*"isForced":true/])
  await refuses(test, 'IN_USE', work({ files: [] }) ?? Promise.resolve())
  test.same(done, ['departs for update'], 'and nothing else happens')
})

t.test(
  'an update waits for a package that is being uploaded: it may take the place of one that would be installed',
  async (test) => {
    const kept = defer<{ readonly problem: string }>()
    const { updates, done } = onAppliance(test, { keepPackage: () => kept.promise })
    const upload = updates.upload('AAAA')
    const error = await refuses(test, 'JOB_IN_PROGRESS', updates.start(false, 'ann'))
    test.match(error.message, /being uploaded/)
    test.same(done, [])
    kept.resolve({ problem: 'is not a Debian package' })
    await refuses(test, 'INVALID_BODY', upload)
    await updates.start(false, 'ann')
    test.match(done, [/^update /])
  },
)

t.test('our units that run a changed package are restarted, and no others', async (test) => {
  for (const [changed, restarts] of [
    ['etcd-server', ['systemctl try-restart fulcrum-etcd.service']],
    ['keepalived', ['systemctl try-restart fulcrum-vrrp.service']],
    ['haproxy', []],
  ] as const) {
    const { done, leave, work } = onAppliance(test, { changed })
    leave('job')
    test.match(await work({ files: [] }), { packages: [{ name: changed, from: '1', to: '2' }] })
    test.same(done, restarts, 'it was begun before, so it has given up its duties')
  }
})

t.test('the part of a node in an update of all is begun once, and reported', async (test) => {
  const { updates, done, jobs } = onAppliance(test)
  const asked = { jobId: 'share', name: 'fulcrum', by: 'ann' }
  test.match(await updates.shareOf(asked), { state: 'running', step: 'begun', isOwn: true, sequence: 7 })
  await updates.shareOf(asked)
  test.same(done, ['update.package {"name":"fulcrum","isForced":false}'])
  const packages = [{ name: 'fulcrum', from: '1', to: '2' }]
  jobs.set('share', { ...(jobs.get('share') as Job), state: 'succeeded', result: { packages } })
  test.match(await updates.shareOf(asked), { state: 'succeeded', changed: { from: '1', to: '2' } })
  const stuck = onAppliance(test, { stuck: true })
  test.match(await stuck.updates.shareOf(asked), { state: undefined, refused: /nobody could take/ })
})
