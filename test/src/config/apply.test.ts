import t, { type Test } from 'tap'
import { StoreFailedError } from '../../../storage/room.ts'
import { ApplyEngine } from '../../../src/config/apply.ts'
import type { PlanExecutor } from '../../../src/config/enactor.ts'
import type { Driver, PlanResult, Step } from '../../../src/drivers/driver.ts'
import type { Problem } from '../../../src/model/problem.ts'
import type { ConfigView, RecordChange } from '../../../src/model/sections.ts'
import { ANYTHING, configFixture, ENGINE_DEFAULTS, realServer, refuses } from '../../fixtures/config.ts'

const TESTER = { by: 'tester', address: undefined }

/** Writes the names of the real servers into one file: enough to follow an apply. */
function namesDriver(problems: readonly Problem[] = []): Driver {
  const names = (view: ConfigView) =>
    [...view.list('realServers')].map((real) => `${real.name}=${real.weight}`).join(' ')
  return {
    name: 'layer7proxy',
    sections: ['realServers'],
    prepare: () => [],
    verify: () => problems,
    plan(running, desired, { atLeast }) {
      const content = names(desired)
      if (running !== undefined && names(running) === content && atLeast === 'runtime') return []
      const path = '/names'
      const steps: Step[] = [
        { kind: 'check', path, content, mode: 0o600, argv: ['true'], why: 'check the names', timeout_ms: 1000 },
        { kind: 'replaceFile', path, content, mode: 0o600, checked: true, why: 'write the names', timeout_ms: 1000 },
      ]
      if (running === undefined || atLeast !== 'runtime') {
        const verb = atLeast === 'restart' ? 'restart' : 'reload'
        return [
          ...steps,
          {
            kind: 'unit',
            unit: 'layer7proxy',
            verb,
            undo: 'reload',
            whenUnchanged: 'act',
            why: `${verb} it`,
            timeout_ms: 1000,
          },
        ]
      }
      const commands = [{ request: content, expect: [''] }]
      return [
        ...steps,
        { kind: 'socket', path: '/socket', commands, readBack: [], undo: [], why: 'tell it', timeout_ms: 1000 },
      ]
    },
    effectOf: () => 'runtime',
    render: (desired) => [{ path: '/names', content: names(desired) }],
    diagnose: (output) => [{ section: 'realServers', id: 'a', field: undefined, message: output }],
  }
}

type Failure = Partial<Extract<PlanResult, { ok: false }>>

/** A machine of one file, which fails on request. */
function machine() {
  const plans: (readonly Step[])[] = []
  const failures: Failure[] = []
  let file = ''
  let gate: Promise<void> = Promise.resolve()
  const failed = (failure: Failure): PlanResult => ({
    ok: false,
    failedStep: 0,
    kind: 'unit',
    why: 'reload it',
    output: 'no',
    missing: false,
    undone: true,
    ...failure,
  })
  const executor: PlanExecutor = {
    async execute(steps) {
      await gate
      plans.push(steps)
      const failure = failures.shift()
      if (failure !== undefined) return failed(failure)
      for (const step of steps) if (step.kind === 'replaceFile') file = step.content
      return { ok: true, done: steps.length, recorded: 0, warnings: [] }
    },
    async check(steps) {
      plans.push(steps.filter((step) => step.kind === 'check'))
      const failure = failures.shift()
      return failure === undefined ? { ok: true, done: 1, recorded: 0, warnings: [] } : failed(failure)
    },
  }
  return {
    executor,
    plans,
    fail: (...more: readonly Failure[]) => failures.push(...more),
    hold() {
      let release: () => void = () => undefined
      gate = new Promise((resolve) => (release = resolve))
      return release
    },
    file: () => file,
    kinds: () => plans.map((steps) => steps.map((step) => step.kind).join(' ')),
  }
}

/** Depends on one record. Without it there is nothing to do, whatever is on the machine, as for most settings. */
const CLOCK: Driver = {
  ...namesDriver(),
  name: 'clocks',
  plan(running, desired) {
    const weightIn = (view: ConfigView | undefined) => view?.get('realServers', 'clock')?.weight
    const content = `${weightIn(desired)}`
    if (content === `${weightIn(running)}`) return []
    return [
      {
        kind: 'replaceFile',
        path: '/clock',
        content,
        mode: 0o600,
        checked: false,
        why: 'set the clock',
        timeout_ms: 1000,
      },
    ]
  },
}

function fixture(test: Test, problems: readonly Problem[] = [], others: readonly Driver[] = []) {
  const config = configFixture(test)
  const host = machine()
  const promoted: RecordChange[] = []
  const told: unknown[] = []
  const engine = new ApplyEngine({
    ...ENGINE_DEFAULTS,
    store: config.store,
    drivers: [namesDriver(problems), ...others],
    executor: host.executor,
    tell: (outcome) => void told.push(outcome),
    onPromoted: (changes) => void promoted.push(...changes),
  })
  const apply = (force?: 'restart') => engine.apply({ force, comment: 'why' }, TESTER)
  const add = (id: string) => config.edit((draft) => draft.section('realServers').create(realServer(id)))
  return { ...config, host, engine, apply, add, promoted, told }
}

t.test('an apply makes the candidate running, stores the revision and reports the changes', async (test) => {
  const { add, apply, store, host, promoted } = fixture(test)
  await add('a')
  const applied = await apply()
  test.equal(applied.revision, 1)
  test.equal(store.revision, 1)
  test.equal(host.file(), 'a=100')
  test.same(store.changes(), [])
  test.equal(store.journal(), undefined)
  test.match(promoted, [{ section: 'realServers', id: 'a', before: undefined }])
  test.match(store.revisions(1), [{ revision: 1, by: 'tester', comment: 'why' }])
})

t.test('the result of each apply is reported', async (test) => {
  const { add, apply, engine, host, told } = fixture(test)
  await add('a')
  await apply()
  test.match(told, [{ state: 'applied', by: 'tester', revision: 1, comment: 'why', changes: 1 }])
  await add('b')
  host.fail({ kind: 'replaceFile', output: 'no space' })
  await refuses(test, 'APPLY_PARTIAL', apply())
  test.match(told[1], { state: 'refused', by: 'tester', revision: 1, reason: /./ })
  await engine.apply({ force: undefined, confirmWithin: 60 }, TESTER)
  await engine.confirm()
  test.match(told.slice(2), [
    { state: 'applied', confirmBy: String },
    { state: 'kept', revision: 2 },
  ])
})

t.test('nothing pending: success, and nothing is executed', async (test) => {
  const { apply, host, store } = fixture(test)
  await apply()
  test.same(host.plans, [])
  test.equal(store.revision, 0)
})

t.test('a forced restart is planned even when nothing is pending', async (test) => {
  const { apply, host } = fixture(test)
  await apply('restart')
  test.same(host.kinds(), ['check replaceFile unit'])
})

t.test('problems of drivers stop the apply before anything is executed, all of them at once', async (test) => {
  const problem = (id: string): Problem => ({ section: 'realServers', id, field: 'ip', message: `bad ${id}` })
  const { add, apply, host, store } = fixture(test, [problem('a'), problem('b')])
  await add('a')
  const error = await refuses(test, 'CONFIG_INVALID', apply())
  test.same(
    error.details.errors?.map((entry) => entry.field),
    ['realServers.a.ip', 'realServers.b.ip'],
  )
  test.same(host.plans, [])
  test.equal(store.changes().length, 1)
})

t.test(
  'a checker that rejects the file: CONFIG_INVALID with its output and the object, candidate kept',
  async (test) => {
    const { add, apply, host, store } = fixture(test)
    await add('a')
    host.fail({ kind: 'check', output: 'line 3: bad' })
    const error = await refuses(test, 'CONFIG_INVALID', apply())
    test.match(error.details, { errors: [{ field: 'realServers.a' }], data: { output: 'line 3: bad' } })
    test.equal(store.changes().length, 1)
    test.equal(store.journal(), undefined)
    test.equal(store.revision, 0)
  },
)

t.test('a program that is not installed: NOT_SUPPORTED with the command to run', async (test) => {
  const { add, apply, host } = fixture(test)
  await add('a')
  host.fail({ kind: 'check', missing: true, output: 'haproxy is not installed: apt-get install haproxy' })
  const error = await refuses(test, 'NOT_SUPPORTED', apply())
  test.match(error.message, /apt-get install/)
})

t.test('a step that fails: APPLY_PARTIAL names node and step', async (test) => {
  const { add, apply, host, store } = fixture(test)
  await add('a')
  host.fail({ kind: 'unit', output: 'cannot bind' })
  const error = await refuses(test, 'APPLY_PARTIAL', apply())
  test.match(error.details.data, { nodes: [{ nodeId: 'node-1', ok: false, output: 'cannot bind' }] })
  test.equal(store.journal(), undefined)
})

t.test('when the store fails to save the new configuration, the first error is reported', async (test) => {
  const { store, host, add } = fixture(test)
  await add('a')
  const reason = 'the disk failed'
  const failing = new Proxy(store, {
    get(target, name) {
      if (name === 'closeJournal') return async () => Promise.reject(new StoreFailedError(reason, 'writing'))
      if (name === 'write') return async () => Promise.reject(new StoreFailedError(reason, 'doing'))
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const parts = { ...ENGINE_DEFAULTS, store: failing, drivers: [namesDriver()], executor: host.executor }
  const engine = new ApplyEngine(parts)
  await test.rejects(engine.apply({ force: undefined, comment: 'why' }, TESTER), {
    message: /unknown whether this was stored/,
  })
  test.ok(store.journal(), 'the start finds out')
})

t.test('a refused runtime command falls back to a reload', async (test) => {
  const { add, apply, host, store } = fixture(test)
  await add('a')
  host.fail({ kind: 'socket', output: 'Server still has connections' })
  await apply()
  test.same(host.kinds(), ['check replaceFile socket', 'check replaceFile unit'])
  test.equal(store.revision, 1)
})

t.test(
  'when undoing fails too, running is restored; if that fails, the journal stays open for the next start',
  async (test) => {
    const { add, apply, host, store, engine } = fixture(test)
    await add('a')
    host.fail({ undone: false })
    await refuses(test, 'APPLY_PARTIAL', apply())
    test.equal(store.journal(), undefined)
    host.fail({ undone: false }, { undone: false })
    await refuses(test, 'APPLY_PARTIAL', apply())
    test.match(store.journal(), { revision: 1 })
    const result = await engine.converge()
    test.ok(result.ok)
    test.equal(store.journal(), undefined)
  },
)

for (const [what, next] of [
  ['another apply', async ({ add, apply }: ReturnType<typeof fixture>) => (await add('b'), apply())],
  ['a restart', ({ apply }: ReturnType<typeof fixture>) => apply('restart')],
] as const)
  t.test(`doubt left by an apply remains after ${what}`, async (test) => {
    const it = fixture(test, [], [CLOCK])
    const { add, apply, edit, host, store, engine } = it
    await add('clock')
    host.fail({ undone: false }, { undone: false }, { undone: false })
    await refuses(test, 'APPLY_PARTIAL', apply())
    const left = store.journal()
    test.same(left?.drivers, ['layer7proxy', 'clocks'])
    await edit((draft) => draft.discard('all', ANYTHING))
    await next(it)
    test.same(store.journal(), left)

    test.comment('and also when that one fails as well')
    await edit((draft) => draft.section('realServers').create(realServer('c')))
    host.fail({ undone: false }, { undone: false })
    await refuses(test, 'APPLY_PARTIAL', apply())
    test.match(store.journal(), { drivers: ['layer7proxy'], inDoubt: left })
    const { length } = host.plans
    test.ok((await engine.converge(() => false)).ok)
    const made = host.plans.slice(length).flat()
    test.match(
      made.find((step) => step.kind === 'replaceFile' && step.path === '/clock'),
      { content: 'undefined' },
    )
    test.equal(store.journal(), undefined)
  })

t.test('two applies at once: one wins, the other gets 409 with Retry-After', async (test) => {
  const { add, apply, host, store } = fixture(test)
  await add('a')
  const release = host.hold()
  const first = apply()
  const error = await refuses(test, 'APPLY_IN_PROGRESS', apply())
  test.match(error.details.headers, { 'Retry-After': '1' })
  release()
  await first
  test.equal(store.revision, 1)
})

t.test('an apply waits for the daemon’s own maintenance instead of being refused', async (test) => {
  const { add, apply, engine, host, store } = fixture(test)
  await add('a')
  const release = host.hold()
  const maintenance = engine.converge()
  const first = apply()
  const second = refuses(test, 'APPLY_IN_PROGRESS', apply())
  release()
  await maintenance
  await first
  await second
  test.equal(store.revision, 1)
})

t.test('changes staged during an apply stay pending and are not applied', async (test) => {
  const { add, apply, host, store } = fixture(test)
  await add('a')
  const release = host.hold()
  const first = apply()
  await add('b')
  release()
  await first
  test.equal(host.file(), 'a=100')
  test.same(
    store.changes().map((change) => change.key),
    ['b'],
  )
})

t.test('a change reverted during an apply stays a change, and a frozen change cannot be discarded', async (test) => {
  const { add, apply, edit, host, store } = fixture(test)
  await add('a')
  await add('b')
  await apply()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 7 }))
  await add('new')
  const release = host.hold()
  const running = apply()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 100 }))
  await edit((draft) => draft.section('realServers').remove('new'))
  const [frozen] = store.changes()
  await refuses(
    test,
    'APPLY_IN_PROGRESS',
    edit((draft) => draft.discard({ id: frozen?.id ?? '' }, ANYTHING)),
  )
  await refuses(
    test,
    'APPLY_IN_PROGRESS',
    edit((draft) => draft.discard('all', ANYTHING)),
  )
  release()
  await running
  test.equal(host.file(), 'a=7 b=100 new=100', 'the frozen changes run')
  test.same(
    store
      .changes()
      .map(({ key, after }) => [key, after === undefined ? 'removed' : Reflect.get(Object(after.value), 'weight')]),
    [
      ['a', 100],
      ['new', 'removed'],
    ],
    'changes answered during the apply are pending',
  )
  await apply()
  test.equal(host.file(), 'a=100 b=100')
})

t.test('after a failed apply, a change reverted during it is no longer a change', async (test) => {
  const { add, apply, edit, host, store } = fixture(test)
  await add('a')
  const release = host.hold()
  host.fail({ kind: 'check', output: 'bad' })
  const failing = refuses(test, 'CONFIG_INVALID', apply())
  await edit((draft) => draft.section('realServers').remove('a'))
  release()
  await failing
  test.same(store.changes(), [])
})

t.test('an apply of a part leaves the rest pending', async (test) => {
  const { add, engine, host, store } = fixture(test)
  await add('a')
  await add('b')
  await engine.apply({ force: undefined, comment: undefined }, TESTER, (change) => change.key === 'b')
  test.equal(host.file(), 'b=100')
  test.same(
    store.changes().map((change) => change.key),
    ['a'],
  )
})

t.test('validate runs the checker alone and changes nothing', async (test) => {
  const { add, engine, host, store } = fixture(test)
  await add('a')
  await engine.validate()
  test.same(host.kinds(), ['check'])
  host.fail({ kind: 'check', output: 'bad' })
  await refuses(test, 'CONFIG_INVALID', engine.validate())
  test.equal(store.changes().length, 1)
  test.equal(host.file(), '')
})

t.test('after a crash in the middle of an apply, the start restores running and closes the journal', async (test) => {
  const { add, apply, edit, engine, host, store } = fixture(test)
  await add('a')
  await apply()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 7 }))
  await store.openJournal({ applyId: 'x', revision: 2, by: 'tester', at: '', comment: '', steps: [] })
  await engine.converge()
  test.equal(host.kinds().at(-1), 'check replaceFile unit')
  test.equal(host.file(), 'a=100')
  test.equal(store.journal(), undefined)
  test.equal(store.changes().length, 1)
})

t.test('random sequences of edits and applies end as applying the final configuration once', async (test) => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const { edit, apply, host, store } = fixture(test)
    let state = seed
    const random = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below
    for (let step = 0; step < 30; step += 1) {
      const id = `r${random(5)}`
      await edit((draft) => {
        const reals = draft.section('realServers')
        if (reals.find(id) === undefined) reals.create(realServer(id, { weight: random(256) }))
        else if (random(3) === 0) reals.remove(id)
        else reals.merge(id, { weight: random(256) })
      })
      if (random(4) === 0) await apply()
    }
    const wanted = store.candidate
      .list('realServers', '')
      .map((entry) => Reflect.get(Object(entry.value), 'name') + '=' + Reflect.get(Object(entry.value), 'weight'))
    await apply()
    test.equal(host.file(), wanted.join(' '), `seed ${seed}`)
    test.same(store.changes(), [])
  }
})

t.test('changes staged while an apply takes turns are not part of it', async (test) => {
  const { add, apply, store, host, edit } = fixture(test)
  await add('a')
  await apply()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 1 }))
  const applied = apply()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 2 }))
  await applied
  test.equal(host.file(), 'a=1')
  test.match(store.changes(), [{ key: 'a', before: { value: { weight: 1 } }, after: { value: { weight: 2 } } }])
  await apply()
  test.equal(host.file(), 'a=2')
})
