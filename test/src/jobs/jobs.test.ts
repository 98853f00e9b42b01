import t, { type Test } from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { Events } from '../../../src/events/events.ts'
import { GivenUp, type JobKind, Jobs } from '../../../src/jobs/jobs.ts'
import { silentLog } from '../../../src/base/log.ts'
import { openStore, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

function fixture(test: Test) {
  const store = openStore(test)
  const clock = manualClock()
  const events = new Events(store.events, clock, silentLog)
  const told: unknown[] = []
  const open = () => new Jobs(store.jobs, events, clock, silentLog)
  /** Resolves when the job's end was reported, which is after it is on the disk. */
  const ended = (id: string) =>
    new Promise<void>((resolve) => {
      events.subscribe(({ data }) => {
        told.push(data)
        if (Reflect.get(data, 'id') === id && Reflect.get(data, 'state') !== 'running') resolve()
      })
    })
  return { open, ended, told, clock, store }
}

const kindOf = (work: JobKind<string>['work'], more: Partial<JobKind<string>> = {}): JobKind<string> => ({
  kind: 'test.work',
  title: 'Work',
  group: 'test',
  work,
  ...more,
})

t.test('a job exists when its id is answered, and has its result when it ended', async (test) => {
  const { open, ended, told } = fixture(test)
  const jobs = open()
  let go = () => undefined as void
  const gate = new Promise<void>((resolve) => (go = resolve))
  const id = await jobs.start(
    kindOf(async (job, memory) => {
      job.report({ progress: 40, step: 'half of it', log: ['one line', 'x'.repeat(2000)] })
      await gate
      return { said: memory }
    }),
    'hello',
    'a@b',
  )
  test.match(jobs.get(id), { state: 'running', progress: 40, step: 'half of it', by: 'a@b', endedAt: null })
  test.equal(jobs.get(id).log[1]?.length, 500, 'long lines are truncated')
  test.notOk('memory' in jobs.get(id), 'internal data of the work is not shown')
  const end = ended(id)
  go()
  await end
  test.match(jobs.get(id), { state: 'succeeded', progress: 100, result: { said: 'hello' }, problem: null })
  test.match(told.at(-1), { id, state: 'succeeded' })
  test.match(open().get(id), { state: 'succeeded', result: { said: 'hello' } }, 'also after a restart')
})

t.test('jobs of one group exclude each other', async (test) => {
  const { open } = fixture(test)
  const jobs = open()
  const forever = kindOf(() => new Promise(() => undefined))
  const id = await jobs.start(forever, '', 'a@b')
  const error = await refuses(test, 'JOB_IN_PROGRESS', jobs.start(forever, '', 'a@b'))
  test.match(error.details, { data: { job: id }, headers: { 'Retry-After': String } })
  test.ok(await jobs.start({ ...forever, group: 'other' }, '', 'a@b'), 'another group is free')
})

t.test('a failure keeps its code; a defect only says where to look', async (test) => {
  const { open, ended } = fixture(test)
  const jobs = open()
  const refused = await jobs.start(
    kindOf(async () => Promise.reject(new ApiError('NOT_SUPPORTED', 'no LVM here'))),
    '',
    'a@b',
  )
  await ended(refused)
  test.match(jobs.get(refused), { state: 'failed', problem: { code: 'NOT_SUPPORTED', message: 'no LVM here' } })
  const broken = await jobs.start(
    kindOf(async () => Promise.reject(new Error('secret detail'))),
    '',
    'a@b',
  )
  await ended(broken)
  test.match(jobs.get(broken), { state: 'failed', problem: { code: 'INTERNAL' } })
  test.notMatch(JSON.stringify(jobs.get(broken)), /secret detail/)
})

t.test('a job is cancelled only while it allows that', async (test) => {
  const { open, ended } = fixture(test)
  const jobs = open()
  const work: JobKind<string>['work'] = (job) =>
    new Promise((_, reject) => {
      job.report({ canCancel: true })
      job.signal.addEventListener('abort', () => reject(new Error('aborted')))
    })
  const id = await jobs.start(kindOf(work), '', 'a@b')
  const end = ended(id)
  jobs.cancel(id)
  await end
  test.match(jobs.get(id), { state: 'cancelled', canCancel: false })
  await refuses(test, 'NOT_SUPPORTED', () => jobs.cancel(id))
  await refuses(test, 'NOT_FOUND', () => jobs.cancel('nope'))
  const stubborn = await jobs.start(
    kindOf(() => new Promise(() => undefined)),
    '',
    'a@b',
  )
  await refuses(test, 'NOT_SUPPORTED', () => jobs.cancel(stubborn))
})

t.test('a restart of the daemon loses no job: it is resumed, or has failed and says so', async (test) => {
  const { open, ended } = fixture(test)
  const kind = kindOf(() => new Promise(() => undefined), { resume: async (_, memory) => ({ resumed: memory }) })
  const before = open()
  const lasting = await before.start(kind, 'm', 'a@b')
  const lost = await before.start({ ...kind, kind: 'test.lost', group: 'lost' }, 'm', 'a@b')
  const after = open()
  const ends = Promise.all([ended(lasting), ended(lost)])
  after.resume([kind])
  await ends
  test.match(after.get(lasting), { state: 'succeeded', result: { resumed: 'm' } })
  test.match(after.get(lost), { state: 'failed', problem: { message: /daemon ended/ } })
})

t.test('work lost by the end of the daemon is no failure: the next start resumes it', async (test) => {
  const { open, ended } = fixture(test)
  let lose: (error: Error) => void = () => undefined
  const lost = new Promise<never>((_, reject) => (lose = reject))
  const kind = kindOf(() => lost, { resume: async () => 'done' })
  const before = open()
  const id = await before.start(kind, '', 'a@b')
  await before.close()
  lose(new Error('The task has been aborted'))
  await test.rejects(lost)
  test.match(before.get(id), { state: 'running', problem: null })
  const after = open()
  const end = ended(id)
  after.resume([kind])
  await end
  test.match(after.get(id), { state: 'succeeded', result: 'done' })
})

t.test('the newest are kept, and all running ones', async (test) => {
  const { open, store } = fixture(test)
  const jobs = open()
  const stays = await jobs.start(
    kindOf(() => new Promise(() => undefined), { group: 'stays' }),
    '',
    'a@b',
  )
  for (let i = 0; i < 205; i++) {
    await jobs.start(
      kindOf(async () => i, { group: `g${i}` }),
      '',
      'a@b',
    )
  }
  await jobs.close()
  test.equal(jobs.list().length, 200)
  test.equal(jobs.get(stays).state, 'running')
  test.equal(store.jobs.entries().length, 200)
})

t.test('a job that was started before the machine was ready is not done twice', async (test) => {
  const { open, ended } = fixture(test)
  const jobs = open()
  let times = 0
  let go = () => undefined as void
  const gate = new Promise<void>((resolve) => (go = resolve))
  const work = async () => {
    times += 1
    await gate
    return times
  }
  const kind = kindOf(work, { resume: work })
  const id = await jobs.start(kind, 'm', 'a@b')
  jobs.resume([kind])
  const end = ended(id)
  go()
  await end
  test.equal(times, 1)
  test.match(jobs.get(id), { state: 'succeeded', result: 1, problem: null })
})

t.test('a reverted job is no failure', async (test) => {
  const { open, ended } = fixture(test)
  const jobs = open()
  const kind = kindOf(async () => {
    await Promise.resolve()
    throw new GivenUp('NOT_FOUND', 'it was taken back')
  })
  const id = await jobs.start(kind, 'm', 'a@b')
  await ended(id)
  test.match(jobs.get(id), { state: 'cancelled', problem: { code: 'NOT_FOUND', message: 'it was taken back' } })
})

t.test('work is told of the end of the daemon, and the next start has its notes', async (test) => {
  const { open, ended, clock } = fixture(test)
  const jobs = open()
  let hasEnded = false
  const work: JobKind<string>['work'] = async (job) => {
    clock.advance(2_000)
    job.report({ memory: 'later' })
    await new Promise((resolve) => job.ending.addEventListener('abort', resolve))
    hasEnded = true
    throw job.ending.reason
  }
  const id = await jobs.start(kindOf(work), 'first', 'a@b')
  // Reports are stored in order, so this is on the disk afterwards.
  await new Promise((resolve) => setTimeout(resolve, 50))
  await jobs.close()
  await new Promise((resolve) => setImmediate(resolve))
  test.equal(hasEnded, true)
  const next = open()
  const end = ended(id)
  next.resume([kindOf(work, { resume: async (_, memory) => ({ memory }) })])
  await end
  test.match(next.get(id), { state: 'succeeded', result: { memory: 'later' } })
})
