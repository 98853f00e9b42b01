import t, { type Test } from 'tap'
import { Enactor, type OwnPart } from '../../../src/config/enactor.ts'
import type { Driver, PlanResult, Step } from '../../../src/drivers/driver.ts'
import type { DesiredNetwork } from '../../../src/drivers/host.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { SystemProxy } from '../../../src/model/node.ts'
import { executePlan, checkPlan } from '../../../workers/executor.ts'
import { RecordingHost } from '../../../workers/host/recording-host.ts'
import { configFixture, refuses } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const NOTHING: DesiredNetwork = { addresses: [], routes: [], rules: [] }
const proxy = (username: string): SystemProxy => ({
  id: 'n',
  enable: false,
  address: null,
  username,
  password: '',
  bypass: [],
})
const settings = (username: string) => viewOf({ systemProxies: [proxy(username)] })
const RUNTIME = { atLeast: 'runtime' } as const
const header = { applyId: 'a', revision: 1, by: 'tester', at: '', comment: '' }
const basics = { why: 'w', timeout_ms: 1000 }

/**
 * Writes one setting into a file and removes the file without a record; plans nothing when it knows of no difference.
 */
function settingDriver(name: string, more: readonly Step[] = []): Driver {
  return {
    name,
    sections: ['systemProxies'],
    prepare: () => [],
    verify: () => [],
    plan(running, desired) {
      const [before, after] = [running, desired].map((view) => view?.get('systemProxies', 'n')?.username)
      if (before === after) return []
      const path = `/${name}`
      if (after === undefined) return [{ ...basics, kind: 'removeFile', path }]
      return [...more, { ...basics, kind: 'replaceFile', path, content: after, mode: 0o600, checked: false }]
    },
    effectOf: () => undefined,
    render: () => [],
    diagnose: (output) => [{ section: 'systemProxies', id: 'n', field: undefined, message: `${name}: ${output}` }],
  }
}

function fixture(test: Test, drivers: readonly Driver[], own: readonly OwnPart[] = []) {
  const { store } = configFixture(test)
  const host = new RecordingHost({ answerRun: ([name]) => ({ exitCode: name === 'judge' ? 1 : 0, output: 'bad' }) })
  const executor = {
    execute: (steps: readonly Step[]) => executePlan(host, steps),
    check: (steps: readonly Step[]) => checkPlan(host, steps),
  }
  const parts = { store, drivers, executor, own, nodeId: 'node-1', log: silentLog }
  return {
    store,
    host,
    enactor: new Enactor(parts),
    again: (these: readonly Driver[]) => new Enactor({ ...parts, drivers: these }),
  }
}

const attempted = [{ section: 'systemProxies', scope: '', key: 'n', after: proxy('new') }]

t.test('checks of every driver come first, removals come last', async (test) => {
  const steps = (phase: 'add' | 'settle'): Step => ({ ...basics, kind: 'network', desired: NOTHING, phase })
  const check: Step = { ...basics, kind: 'check', path: '/c', content: '', mode: 0o600, argv: ['true'] }
  const { enactor } = fixture(test, [settingDriver('a', [steps('settle'), steps('add')]), settingDriver('b', [check])])
  const { steps: planned, owners } = enactor.plan(viewOf({}), settings('x'), RUNTIME)
  test.same(
    planned.map((step) => (step.kind === 'network' ? step.phase : step.kind)),
    ['check', 'add', 'replaceFile', 'replaceFile', 'settle'],
  )
  test.same(
    owners.map(({ name }) => name),
    ['b', 'a', 'a', 'b', 'a'],
  )
})

t.test('a refused check is explained by the driver that planned it', async (test) => {
  const check: Step = { ...basics, kind: 'check', path: '/c', content: '', mode: 0o600, argv: ['judge'] }
  const { enactor, store } = fixture(test, [settingDriver('a'), settingDriver('b', [check])])
  const error = await refuses(
    test,
    'CONFIG_INVALID',
    enactor.enact(viewOf({}), settings('x'), RUNTIME, header, attempted),
  )
  test.match(error.details.errors, [{ message: 'b: bad' }])
  test.equal(error.details.errors?.length, 1)
  test.equal(store.journal(), undefined)
})

t.test('the journal has the attempted changes, so that a start reverts a setting that is not running', async (test) => {
  const { enactor, host, store, again } = fixture(test, [settingDriver('a')])
  const enacted = await enactor.enact(viewOf({}), settings('new'), RUNTIME, header, attempted)
  test.ok(enacted.isDryRun, 'only recorded')
  test.equal(await host.readFile('/a'), 'new')
  test.match(store.journal(), { attempted: [{ section: 'systemProxies', key: 'n' }] })
  // The daemon is killed before the promotion; running has no such record.
  test.match(await again([settingDriver('a')]).converge(() => false), { ok: true })
  test.equal(await host.readFile('/a'), undefined)
  test.equal(store.journal(), undefined)
})

t.test('changes that a check could not revert are in doubt, and are reverted by the next look', async (test) => {
  const beside = (content: string) => ({ path: '/beside', content })
  const driver: Driver = {
    ...settingDriver('a'),
    makesAnew: true,
    plan: (_running, desired) => {
      const file = beside(desired.get('systemProxies', 'n')?.username ?? 'old')
      return [
        { ...basics, kind: 'check', path: '/c', content: '', mode: 0o600, argv: ['true'], beside: [file] },
        { ...basics, ...file, kind: 'replaceFile', mode: 0o600, checked: false },
      ]
    },
  }
  const { enactor, host, store } = fixture(test, [driver])
  await enactor.converge(() => true)
  const replaceFile = host.replaceFile.bind(host)
  host.replaceFile = (path, content, mode) =>
    content === 'old' ? Promise.reject(new Error('no space')) : replaceFile(path, content, mode)
  const error = await refuses(test, 'APPLY_PARTIAL', enactor.check(settings('new'), RUNTIME))
  test.match(error.message, /^A check could not be undone.*: restore the files that the check of .c wrote$/)
  test.equal(await host.readFile('/beside'), 'new')
  test.match(store.journal(), { drivers: ['a'] })
  host.replaceFile = replaceFile
  test.match(await enactor.converge(() => false), { ok: true })
  test.equal(await host.readFile('/beside'), 'old')
  test.equal(store.journal(), undefined)
})

t.test('a driver that makes everything anew needs nothing in the journal', async (test) => {
  const { enactor, store } = fixture(test, [{ ...settingDriver('a'), makesAnew: true }])
  await enactor.enact(viewOf({}), settings('new'), RUNTIME, header, attempted)
  test.same(store.journal()?.attempted, [])
})

t.test('a failing part of the daemon reverts the machine, and the parts before it', async (test) => {
  const kept: string[] = []
  const part = (name: string): OwnPart => ({
    verify: async () => [],
    enact: async () => ({ keep: () => kept.push(`keep ${name}`), takeBack: () => kept.push(`back ${name}`) }),
  })
  const failing: OwnPart = { verify: async () => [], enact: () => Promise.reject(new Error('cannot listen')) }
  const broken = fixture(test, [settingDriver('a')], [part('one'), failing])
  const error = await refuses(
    test,
    'APPLY_PARTIAL',
    broken.enactor.enact(viewOf({}), settings('new'), RUNTIME, header, attempted),
  )
  test.match(error.details.data, { nodes: [{ output: 'cannot listen' }] })
  test.same(kept, ['back one'])
  test.equal(await broken.host.readFile('/a'), undefined)
  test.equal(broken.store.journal(), undefined)

  const whole = fixture(test, [settingDriver('a')], [part('one'), part('two')])
  const enacted = await whole.enactor.enact(viewOf({}), settings('new'), RUNTIME, header, attempted)
  enacted.keep()
  test.same(kept.slice(1), ['keep one', 'keep two'])
  test.equal((await enacted.takeBack('keep it', 'full')).code, 'APPLY_PARTIAL')
  test.equal(await whole.host.readFile('/a'), undefined)
})

t.test('converging: the failure of one driver does not stop another', async (test) => {
  const fails: Driver = { ...settingDriver('a'), plan: () => [{ ...basics, kind: 'run', argv: ['judge'], undo: [] }] }
  const works: Driver = { ...settingDriver('b'), plan: () => [{ ...basics, kind: 'run', argv: ['work'], undo: [] }] }
  const { enactor, host } = fixture(test, [fails, works])
  test.match(await enactor.converge(() => true), { ok: false, output: 'bad' })
  test.match(host.takeJournal(), [{ argv: ['judge'] }, { argv: ['work'] }])
  test.match(await enactor.converge(({ name }) => name === 'b'), { ok: true })
  test.match(host.takeJournal(), [{ argv: ['work'] }])
})

t.test('whether a failed apply was undone is reported truthfully', async (test) => {
  const failed = {
    ok: false,
    failedStep: 0,
    kind: 'replaceFile',
    why: 'put it',
    output: 'no room',
    missing: false,
  } as const
  const done = { ok: true, done: 1, recorded: 0, warnings: [] } as const
  const { store } = configFixture(test)
  for (const [what, results, message, isOpen] of [
    ['undone by the plan itself', [{ ...failed, undone: true }], 'The apply failed and was undone: put it', false],
    ['restored', [{ ...failed, undone: false }, done], 'The apply failed and was undone: put it', false],
    [
      'neither',
      [
        { ...failed, undone: false },
        { ...failed, undone: false },
      ],
      /^The apply failed and could not be undone.*: put it$/,
      true,
    ],
  ] as const) {
    const answers: PlanResult[] = [...results]
    const executor = { execute: async () => answers.shift() ?? done, check: async () => done }
    const enactor = new Enactor({
      store,
      drivers: [settingDriver('a')],
      executor,
      own: [],
      nodeId: 'n',
      log: silentLog,
    })
    const enacted = enactor.enact(viewOf({}), settings('new'), RUNTIME, header, attempted)
    test.match((await refuses(test, 'APPLY_PARTIAL', enacted)).message, message, what)
    test.equal(store.journal() !== undefined, isOpen, what)
  }
})

t.test('also when a part of the daemon cannot follow', async (test) => {
  const failed = {
    ok: false,
    failedStep: 0,
    kind: 'unit',
    why: 'back',
    output: 'no',
    missing: false,
    undone: false,
  } as const
  const done = { ok: true, done: 1, recorded: 0, warnings: [] } as const
  const { store } = configFixture(test)
  const own: OwnPart = { verify: async () => [], enact: () => Promise.reject(new Error('the port is taken')) }
  const answers: PlanResult[] = [done, failed]
  const executor = { execute: async () => answers.shift() ?? done, check: async () => done }
  const enactor = new Enactor({
    store,
    drivers: [settingDriver('a')],
    executor,
    own: [own],
    nodeId: 'n',
    log: silentLog,
  })
  const enacted = enactor.enact(viewOf({}), settings('new'), RUNTIME, header, attempted)
  test.match((await refuses(test, 'APPLY_PARTIAL', enacted)).message, /^The apply failed and could not be undone/)
})
