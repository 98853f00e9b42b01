import t, { type Test } from 'tap'
import { ApplyEngine } from '../../../src/config/apply.ts'
import type { PlanResult } from '../../../src/drivers/driver.ts'
import { NOBODY_LISTENS } from '../../../src/drivers/haproxy/cli.ts'
import { supervisedPaths } from '../../../src/drivers/haproxy/paths.ts'
import { createDrivers } from '../../../src/drivers/index.ts'
import { createLog } from '../../../src/base/log.ts'
import { Supervision } from '../../../src/watches/supervision.ts'
import { configFixture, ENGINE_DEFAULTS } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const DOWN = {
  ok: false,
  failedStep: 0,
  kind: 'unit',
  why: 'start',
  output: 'no',
  missing: false,
  undone: true,
} as const

/** The interval of the test: it looks on request, and is gone when it was cleared. */
function ownInterval(test: Test) {
  const looks = new Map<unknown, () => void>()
  const set = (look: () => void) => {
    const timer = { unref: () => timer }
    looks.set(timer, look)
    return timer
  }
  test.intercept(globalThis, 'setInterval', { value: set })
  test.intercept(globalThis, 'clearInterval', { value: (timer: unknown) => looks.delete(timer) })
  return { count: () => looks.size, tick: () => looks.forEach((look) => look()) }
}

function fixture(test: Test) {
  const { store } = configFixture(test)
  const clock = manualClock()
  const lines: string[] = []
  const log = createLog((line) => lines.push(line))
  const machine = { up: true, isOurs: true, why: 'it did not answer within 900 ms' }
  let attempts = 0
  let execute: () => Promise<PlanResult> = async () => ({ ok: true, done: 1, recorded: 0, warnings: [] })
  const engine = new ApplyEngine({
    ...ENGINE_DEFAULTS,
    store,
    drivers: createDrivers({ haproxy: supervisedPaths('/state/haproxy'), stateFolder: '/state' }, 'node'),
    executor: {
      execute() {
        attempts += 1
        return execute()
      },
      check: async () => ({ ok: true, done: 0, recorded: 0, warnings: [] }),
    },
    clock,
    log,
  })
  const told: string[] = []
  const interval = ownInterval(test)
  const state = () => ({ up: machine.up, reason: machine.up ? undefined : machine.why })
  const supervision = new Supervision(
    engine,
    state,
    () => machine.isOurs,
    clock,
    log,
    (up, reason) => told.push(`${up ? 'up' : 'down'} ${reason ?? ''}`.trim()),
  )
  /** Lets seconds pass, with one look each; actions of a look have ended before the next. */
  const pass = async (seconds: number) => {
    const before = attempts
    for (let i = 0; i < seconds; i += 1) {
      clock.advance(1000)
      interval.tick()
      await engine.idle()
    }
    return attempts - before
  }
  /** Sets the state, which a look sees at once. */
  const turn = (up: boolean) => {
    machine.up = up
    interval.tick()
  }
  const goDown = () => turn(false)
  const goUp = () => turn(true)
  const answer = (next: () => Promise<PlanResult>) => (execute = next)
  return {
    supervision,
    interval,
    clock,
    machine,
    engine,
    pass,
    goDown,
    goUp,
    answer,
    lines,
    told,
    attempts: () => attempts,
  }
}

t.test('a failure and a recovery are reported once each, a missed poll is not', async (test) => {
  const { supervision, pass, goDown, goUp, told } = fixture(test)
  supervision.start()
  await pass(5)
  goDown()
  await pass(2)
  goUp()
  await pass(5)
  test.same(told, [])
  goDown()
  await pass(10)
  goUp()
  await pass(5)
  test.same(told, ['down it did not answer within 900 ms', 'up'])
})

t.test('as long as HAProxy answers, nothing is done', async (test) => {
  const { supervision, pass } = fixture(test)
  supervision.start()
  test.equal(await pass(100), 0)
})

t.test('running is enforced after three seconds without an answer, not before', async (test) => {
  const { supervision, pass, goDown, lines } = fixture(test)
  supervision.start()
  await pass(10)
  goDown()
  test.equal(await pass(2), 0, 'a poll or two may be missed')
  test.equal(await pass(1), 1)
  test.match(
    lines.join(''),
    /"level":"warn","message":"HAProxy does not answer[^"]*","reason":"it did not answer within 900 ms"/,
  )
})

t.test('an ended one is started at the next look, and its absence is reported', async (test) => {
  const { supervision, pass, goDown, goUp, machine, told } = fixture(test)
  supervision.start()
  await pass(10)
  machine.why = NOBODY_LISTENS.ECONNREFUSED
  goDown()
  test.equal(await pass(1), 1)
  goUp()
  await pass(5)
  test.same(told, [`down ${NOBODY_LISTENS.ECONNREFUSED}`, 'up'])
  machine.why = NOBODY_LISTENS.ENOENT
  goDown()
  test.equal(await pass(1), 1)
})

t.test('after a start HAProxy has three seconds, also one that was down before', async (test) => {
  const { supervision, pass, goDown } = fixture(test)
  goDown()
  supervision.start()
  goDown()
  test.equal(await pass(2), 0)
  test.equal(await pass(1), 1)
})

t.test('attempts without effect are spaced out up to a minute', async (test) => {
  const { supervision, pass, goDown, answer } = fixture(test)
  answer(async () => DOWN)
  supervision.start()
  goDown()
  test.equal(await pass(3), 1)
  for (const seconds of [6, 12, 24, 48, 60, 60, 60]) {
    test.equal(await pass(seconds - 1), 0, `not before ${seconds} seconds`)
    test.equal(await pass(1), 1, `after ${seconds} seconds`)
  }
})

t.test('an answer in between restarts the spacing', async (test) => {
  const { supervision, pass, goDown, goUp } = fixture(test)
  supervision.start()
  goDown()
  test.equal(await pass(9), 2)
  goUp()
  await pass(10)
  goDown()
  test.equal(await pass(3), 1)
  test.equal(await pass(6), 1)
})

t.test('it waits for the current user of the machine', async (test) => {
  const { supervision, interval, clock, engine, pass, goDown, answer, attempts } = fixture(test)
  let finish: () => void = () => undefined
  const held = new Promise<PlanResult>(
    (resolve) => (finish = () => resolve({ ok: true, done: 1, recorded: 0, warnings: [] })),
  )
  supervision.start()
  await pass(10)
  answer(() => held)
  const restart = engine.enforce('layer7proxy', 'restart')
  goDown()
  const before = attempts()
  for (let i = 0; i < 10; i += 1) {
    clock.advance(1000)
    interval.tick()
  }
  test.equal(attempts(), before)
  answer(async () => ({ ok: true, done: 1, recorded: 0, warnings: [] }))
  finish()
  await restart
  test.equal(await pass(1), 1)
})

t.test('an HAProxy of others is left alone, until it is ours', async (test) => {
  const { supervision, pass, goDown, machine } = fixture(test)
  machine.isOurs = false
  supervision.start()
  goDown()
  test.equal(await pass(100), 0)
  machine.isOurs = true
  test.equal(await pass(1), 1, 'without a wait for attempts that were none')
})

t.test('a failing machine is logged, and retried', async (test) => {
  const { supervision, pass, goDown, answer, lines } = fixture(test)
  answer(() => Promise.reject(new Error('the thread ended')))
  supervision.start()
  goDown()
  test.equal(await pass(3), 1)
  test.equal(await pass(6), 1)
  test.match(lines.join(''), /was not enforced","reason":"Error: the thread ended"/)
})

t.test('a stop ends it', async (test) => {
  const { supervision, interval, pass, goDown } = fixture(test)
  supervision.start()
  test.equal(interval.count(), 1)
  supervision.close()
  test.equal(interval.count(), 0)
  goDown()
  test.equal(await pass(10), 0)
})
