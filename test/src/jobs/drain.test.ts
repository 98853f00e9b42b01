import t, { type Test } from 'tap'
import { ApplyEngine } from '../../../src/config/apply.ts'
import { Editing } from '../../../src/config/editing.ts'
import { configView } from '../../../src/config/views.ts'
import { type Drain, drainKind } from '../../../src/jobs/drain.ts'
import { ApiError } from '../../../src/base/errors.ts'
import type { JobNews } from '../../../src/jobs/jobs.ts'
import { ENGINE_DEFAULTS, openStore, realServer } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { discardIn, stageIn } from '../../fixtures/entries.ts'

const ORIGIN = { actor: 'a@b', endpoint: 'test', at: '2026-01-01T00:00:00.000Z' }
const DONE = { ok: true, done: 0, recorded: 0, warnings: [] } as const

/** A store with one real server; the clock advances a second with each look at the connections. */
async function fixture(test: Test, connections: readonly (number | undefined)[]) {
  const store = openStore(test)
  const editing = new Editing(store)
  const clock = manualClock()
  const executor = { execute: async () => DONE, check: async () => DONE }
  const engine = new ApplyEngine({ ...ENGINE_DEFAULTS, store, drivers: [], executor })
  const apply = () => engine.apply({ force: undefined }, { by: 'a@b', address: undefined })
  const stage = (state: 'online' | 'drained' | 'halted', more = {}) =>
    editing.edit(ORIGIN, undefined, (draft) => draft.section('realServers').put({ ...realServer('r'), ...more, state }))
  await stage('online')
  await apply()
  let look = 0
  const asked: string[][] = []
  const gone = new Set<string>()
  const refusals: (() => ApiError)[] = []
  const kind = drainKind({
    store,
    running: configView(store.running),
    candidate: configView(store.candidate),
    engine: {
      applyUnstaged: async (...request) => {
        const refusal = refusals.shift()?.()
        if (refusal !== undefined) throw refusal
        return engine.applyUnstaged(...request)
      },
    },
    access: {
      assertStill: (author, endpoints, touched) => {
        const { id } = Object(touched?.before)
        asked.push([author.userId || author.email, ...endpoints, `${touched?.section} ${id}`])
        if (gone.has(author.userId)) throw new ApiError('PERMISSION_DENIED', 'the user is gone or disabled')
      },
    },
    connections: async () => {
      clock.advance(1_000)
      return connections[Math.min(look++, connections.length - 1)]
    },
    clock,
  })
  const news: JobNews[] = []
  const abort = new AbortController()
  const ending = new AbortController()
  const job = { id: 'job', signal: abort.signal, ending: ending.signal, report: (one: JobNews) => news.push(one) }
  const drain = (more: Partial<Drain>): Drain => ({ ripId: 'r', wait_s: 3, halt: false, by: 'a@b', ...more })
  const start = (more: Partial<Drain> = {}) => kind.work(job, drain(more))
  const resume = (more: Partial<Drain> = {}) => kind.resume?.(job, drain(more))
  const state = () => configView(store.running).get('realServers', 'r')?.state
  return { store, stage, apply, start, resume, state, news, abort, ending, clock, refusals, asked, gone }
}

t.test('it ends when no connection is left, and reports its progress', async (test) => {
  const { stage, apply, start, state, news } = await fixture(test, [4, 3, 1, 0])
  await stage('drained')
  await apply()
  test.same(await start({ wait_s: 100 }), { ripId: 'r', connections: 0, halted: false })
  test.equal(state(), 'drained')
  test.match(
    news.filter(({ step }) => step !== undefined).map(({ step, progress }) => [step, progress]),
    [
      ['waiting for the apply of the drain'],
      ['4 connections are left', 0],
      ['3 connections are left', 25],
      ['1 connection is left', 75],
    ],
  )
})

t.test('then=halt takes it out, also when the time is over', async (test) => {
  const { stage, apply, start, state } = await fixture(test, [2])
  await stage('drained')
  await apply()
  test.same(await start({ halt: true }), { ripId: 'r', connections: 2, halted: true })
  test.equal(state(), 'halted')
})

t.test('an author who has lost the right by then does not carry it out', async (test) => {
  const { store, stage, apply, start, state, asked, gone } = await fixture(test, [0])
  await stage('drained')
  await apply()
  const author = { userId: 'u', email: 'a@b', sessionId: 's' }
  gone.add('u')
  await test.rejects(start({ halt: true, author }), { code: 'PERMISSION_DENIED' })
  test.equal(state(), 'drained')
  test.same(store.changes(), [])
  test.match(await start({ halt: true }), { halted: true })
  test.same(asked, [
    ['u', 'realServers.halt', 'services.apply', 'realServers r'],
    ['a@b', 'realServers.halt', 'services.apply', 'realServers r'],
  ])
})

t.test('nor one who loses the right while it waits for an apply', async (test) => {
  const { stage, apply, start, state, gone, refusals } = await fixture(test, [0])
  await stage('drained')
  await apply()
  const author = { userId: 'u', email: 'a@b', sessionId: 's' }
  refusals.push(() => {
    gone.add('u')
    return new ApiError('APPLY_IN_PROGRESS', 'busy')
  })
  await test.rejects(start({ halt: true, author }), { code: 'PERMISSION_DENIED' })
  test.equal(refusals.length, 0)
  test.equal(state(), 'drained')
})

t.test('without then, remaining connections are no success', async (test) => {
  const { stage, apply, start, state } = await fixture(test, [2])
  await stage('drained')
  await apply()
  await test.rejects(start(), { code: 'IN_USE', message: /After 3 s 2 connections are left/ })
  test.equal(state(), 'drained')
})

t.test('an unknown number does not count as zero', async (test) => {
  const { stage, apply, start } = await fixture(test, [undefined])
  await stage('drained')
  await apply()
  await test.rejects(start(), { code: 'IN_USE', message: /unknown/ })
  test.match(await start({ halt: true }), { connections: null, halted: true })
})

t.test('it waits for the apply, and ends when the drain is reverted', async (test) => {
  const { store, stage, apply, start } = await fixture(test, [0])
  await stage('drained')
  const waiting = start({ wait_s: 100 })
  await new Promise((resolve) => setTimeout(resolve, 50))
  await apply()
  test.match(await waiting, { connections: 0 })
  await stage('online')
  await apply()
  await stage('drained')
  const again = start()
  await new Promise((resolve) => setTimeout(resolve, 50))
  await discardIn(
    store,
    store.changes().map(({ id }) => id),
  )
  await test.rejects(again, { code: 'NOT_FOUND', message: /^The drain of real server r \(r\) was discarded/ })
})

t.test('another user’s change of the same server stays pending, without the drain before it', async (test) => {
  const { stage, apply, start, state, store } = await fixture(test, [0])
  await stage('drained')
  await apply()
  await stage('drained', { weight: 7 })
  test.match(await start({ halt: true, wait_s: 100 }), { halted: true })
  const running = () => configView(store.running).get('realServers', 'r')
  test.match(running(), { state: 'halted', weight: 100 })
  test.match(store.changes(), [{ after: { value: { state: 'halted', weight: 7 } } }])
  await apply()
  test.match(running(), { state: 'halted', weight: 7 })
  test.equal(state(), 'halted')
})

t.test('a user who wants the server online, or deleted, still wants that', async (test) => {
  const { stage, apply, start, store } = await fixture(test, [0])
  await stage('drained')
  await apply()
  await stage('online')
  await start({ halt: true, wait_s: 100 })
  test.match(store.changes(), [{ before: { value: { state: 'halted' } }, after: { value: { state: 'online' } } }])
  await apply()
  await stage('drained')
  await apply()
  await stageIn(store, [{ section: 'realServers', scope: '', key: 'r', value: undefined }], ORIGIN)
  await start({ halt: true, wait_s: 100 })
  test.match(store.changes(), [{ before: { value: { state: 'halted' } }, after: undefined }])
})

t.test('a refusal, or the end of the daemon, leaves nothing pending; it waits for a running apply', async (test) => {
  const { stage, apply, start, resume, state, store, refusals } = await fixture(test, [0])
  await stage('drained')
  await apply()
  await stage('drained', { weight: 7 })
  refusals.push(() => new ApiError('CONFIG_INVALID', 'no'))
  await test.rejects(start({ halt: true, wait_s: 100 }), { code: 'CONFIG_INVALID' })
  test.match(store.changes(), [{ after: { value: { state: 'drained', weight: 7 } } }], 'as before')
  refusals.push(() => new ApiError('APPLY_IN_PROGRESS', 'busy'))
  test.match(await start({ halt: true, wait_s: 100 }), { halted: true })
  test.equal(state(), 'halted')
  const { revision } = store
  test.match(await resume({ halt: true, wait_s: 100 }), { halted: true }, 'its own halt ends the job')
  test.equal(store.revision, revision)
})

t.test('it can be cancelled while it waits', async (test) => {
  const { stage, apply, start, abort, news } = await fixture(test, [5])
  await stage('drained')
  await apply()
  const waiting = start({ wait_s: 10_000 })
  await new Promise((resolve) => setTimeout(resolve, 50))
  test.equal(news[0]?.canCancel, true)
  abort.abort()
  await test.rejects(waiting, { name: 'AbortError' })
})

t.test('a start of the daemon continues the rest of the wait', async (test) => {
  const { stage, apply, start, resume, news, ending, clock } = await fixture(test, [5])
  await stage('drained')
  await apply()
  const began_ms = clock.now_ms()
  const waiting = start({ wait_s: 60 })
  await new Promise((resolve) => setTimeout(resolve, 50))
  ending.abort()
  await test.rejects(waiting, { name: 'AbortError' }, 'a waiting job does not continue after the end of the daemon')
  const memory = news.map((one) => one.memory).find((one) => one !== undefined)
  test.match(memory, { ripId: 'r', wait_s: 60, until_ms: began_ms + 60_000 })
  clock.advance(58_000)
  await test.rejects(Promise.resolve(resume(Object(memory))), { code: 'IN_USE', message: /5 connections are left/ })
  test.equal(clock.now_ms() - began_ms < 65_000, true)
})
