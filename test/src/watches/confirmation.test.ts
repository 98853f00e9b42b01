import t, { type Test } from 'tap'
import type { Change, Unconfirmed } from '../../../storage/config/config-store.ts'
import { ApplyEngine } from '../../../src/config/apply.ts'
import { amendRecord } from '../../../src/config/amend-record.ts'
import { Confirmation } from '../../../src/watches/confirmation.ts'
import type { Driver } from '../../../src/drivers/driver.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import { configFixture, ENGINE_DEFAULTS, realServer, refuses, user } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const TESTER = { by: 'tester', address: undefined }
const DONE = async () => ({ ok: true, done: 0, recorded: 0, warnings: [] }) as const

const onTakenBack = async () => {}

function fixture(test: Test) {
  const config = configFixture(test)
  const clock = manualClock()
  const engine = new ApplyEngine({
    ...ENGINE_DEFAULTS,
    store: config.store,
    drivers: [],
    executor: { execute: DONE, check: DONE },
    clock,
  })
  const confirmation = (boot = clock) => {
    const made = new Confirmation({ engine, store: config.store, clock: boot, log: silentLog, onTakenBack })
    test.teardown(() => made.close())
    return made
  }
  const add = (id: string) => config.edit((draft) => draft.section('realServers').create(realServer(id)))
  const names = () => config.store.running.list('realServers', '').map(({ value }) => Reflect.get(Object(value), 'id'))
  const apply = (confirmWithin?: number) => engine.apply({ force: undefined, confirmWithin }, TESTER)
  return { ...config, clock, engine, confirmation, add, names, apply }
}

t.test('an unconfirmed apply is reverted as a separate revision', async (test) => {
  const { add, apply, names, store, clock, engine, confirmation } = fixture(test)
  await add('a')
  await apply()
  await add('b')
  const applied = await apply(30)
  test.equal(applied.confirmBy, new Date(clock.now_ms() + 30_000).toISOString())
  test.same(names(), ['a', 'b'])
  clock.advance(29_999)
  await confirmation().start()
  test.same(names(), ['a', 'b'], 'not before its time')
  clock.advance(1)
  await confirmation().start()
  test.same(names(), ['a'])
  test.equal(store.unconfirmed(), undefined)
  test.match(store.revisions(1), [{ revision: 3, by: 'fulcrum', comment: /revision 2 was not confirmed/ }])
  test.match(
    store.changes(),
    [{ key: 'b', actor: 'tester@localhost', endpoint: 'test', before: undefined, after: { value: { id: 'b' } } }],
    'the reverted change is pending again, with its author',
  )
  await engine.apply({ force: undefined }, TESTER)
  test.same(names(), ['a', 'b'])
})

t.test('restored pending changes survive a restart, deletions too', async (test) => {
  const { add, apply, edit, store, engine } = fixture(test)
  await add('a')
  await add('b')
  await apply()
  await edit((draft) => draft.section('realServers').remove('a'))
  await edit((draft) => draft.section('realServers').merge('b', { weight: 7 }))
  const before = store.changes()
  await apply(30)
  await engine.revert(store.unconfirmed() as Unconfirmed)
  const strip = (changes: readonly Change[]) =>
    changes.map(({ id, key, actor, at, after }) => ({ id, key, actor, at, after: after?.value }))
  test.same(strip(store.changes()), strip(before), 'under their own ids')
})

t.test('a user who could not have made the changes cannot confirm them', async (test) => {
  const { add, apply, engine } = fixture(test)
  await add('a')
  await apply(30)
  await refuses(test, 'PERMISSION_DENIED', engine.confirm({ may: (name) => name !== 'realServers.create' }))
  await engine.confirm({ may: (name) => name === 'realServers.create' })
})

t.test('confirmed: it stays, and a second confirmation finds nothing', async (test) => {
  const { add, apply, names, clock, engine, confirmation } = fixture(test)
  await refuses(test, 'NOT_FOUND', engine.confirm())
  await add('a')
  await apply(30)
  test.match(await engine.confirm(), { revision: 1 })
  await refuses(test, 'NOT_FOUND', engine.confirm())
  clock.advance(60_000)
  await confirmation().start()
  test.same(names(), ['a'])
})

t.test('while one waits, another apply is refused with the seconds left', async (test) => {
  const { add, apply, clock, engine } = fixture(test)
  await add('a')
  await apply(30)
  await add('b')
  clock.advance(10_500)
  const error = await refuses(test, 'APPLY_IN_PROGRESS', apply())
  test.match(error.details.headers, { 'Retry-After': '20' })
  test.match(error.message, /PUT \/services\/apply\/confirm/)
  await engine.confirm()
  await apply()
})

t.test('a restarted machine has not been confirmed, whatever its clock says', async (test) => {
  const { add, apply, names, clock, confirmation } = fixture(test)
  await add('a')
  await apply(86_400)
  await confirmation({ ...clock, bootId: 'boot-2' }).start()
  test.same(names(), [])
})

t.test('setting a clock moves no deadline', async (test) => {
  const { add, apply, names, clock, confirmation } = fixture(test)
  await add('a')
  await apply(30)
  await confirmation({ ...clock, now_ms: () => clock.now_ms() + 10 * 365 * 86_400_000 }).start()
  test.same(names(), ['a'])
})

t.test('edits made during the wait stay, on top of the reverted changes', async (test) => {
  const { add, apply, edit, names, store, clock, confirmation } = fixture(test)
  await add('a')
  await apply()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 7 }))
  await apply(30)
  await edit((draft) => draft.section('realServers').merge('a', { weight: 9 }))
  await add('c')
  clock.advance(30_000)
  await confirmation().start()
  test.same(names(), ['a'])
  test.match(store.running.get('realServers', '', 'a')?.value, { weight: 100 })
  test.match(
    store.changes().map(({ key, after }) => [key, Reflect.get(Object(after?.value), 'weight')]),
    [
      ['a', 9],
      ['c', 100],
    ],
  )
})

t.test('a revert after the confirmation does nothing', async (test) => {
  const { add, apply, names, store, engine } = fixture(test)
  await add('a')
  await apply(30)
  const unconfirmed = store.unconfirmed() as Unconfirmed
  await engine.confirm()
  await engine.revert(unconfirmed)
  test.same(names(), ['a'])
})

t.test('a record that comes back has a new revision: an earlier reader must read again', async (test) => {
  const { add, apply, edit, store, clock, confirmation } = fixture(test)
  await add('a')
  await apply()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 7 }))
  await apply(30)
  const read = store.candidate.get('realServers', '', 'a')?.revision
  clock.advance(30_000)
  await confirmation().start()
  test.match(store.running.get('realServers', '', 'a')?.value, { weight: 100 })
  test.not(store.running.get('realServers', '', 'a')?.revision, read)
  await refuses(
    test,
    'REVISION_MISMATCH',
    edit((draft) => draft.section('realServers').merge('a', { weight: 8 }), `"${read}"`),
  )
})

t.test('changes that one driver cannot revert do not block others, and are retried', async (test) => {
  const config = configFixture(test)
  const clock = manualClock()
  const machine = { isBroken: false }
  const done: string[] = []
  const driver = (name: string): Driver => ({
    name,
    sections: ['realServers'],
    prepare: () => [],
    verify: () => [],
    plan: (running, desired) => {
      const names = (view: ConfigView | undefined) => [...(view?.list('realServers') ?? [])].map(({ id }) => id).join()
      if (running !== undefined && names(running) === names(desired)) return []
      return [{ kind: 'run', argv: [name, names(desired)], undo: [], why: name, timeout_ms: 1000 }]
    },
    effectOf: () => undefined,
    render: () => [],
    diagnose: () => [],
  })
  const engine = new ApplyEngine({
    ...ENGINE_DEFAULTS,
    store: config.store,
    drivers: [driver('first'), driver('second')],
    executor: {
      check: DONE,
      async execute(steps) {
        const [step] = steps
        if (step?.kind === 'run' && step.argv[0] === 'first' && machine.isBroken) {
          return { ok: false, failedStep: 0, kind: 'run', why: 'first', output: 'no', missing: false, undone: true }
        }
        for (const each of steps) if (each.kind === 'run') done.push(each.argv.join(' '))
        return DONE()
      },
    },
    clock,
  })
  const confirmation = new Confirmation({ engine, store: config.store, clock, log: silentLog, onTakenBack })
  test.teardown(() => confirmation.close())
  await config.edit((draft) => draft.section('realServers').create(realServer('a')))
  await engine.apply({ force: undefined, confirmWithin: 30 }, TESTER)
  machine.isBroken = true
  clock.advance(30_000)
  await confirmation.start()
  test.same(config.store.running.list('realServers', ''), [], 'running is the old one')
  test.same(done, ['first a', 'second a', 'second '])
  test.ok(config.store.journal(), 'and remembers that a part of the machine is not')
  machine.isBroken = false
  clock.advance(10_000)
  await new Confirmation({ engine, store: config.store, clock, log: silentLog, onTakenBack }).start()
  test.ok(done.includes('first '))
  test.equal(config.store.journal(), undefined)
})

t.test("changes of users' own accounts meanwhile are not reverted with it", async (test) => {
  const { edit, apply, store, clock, engine, confirmation } = fixture(test)
  await edit((draft) => draft.section('users').create(user('u', { firstName: 'Old', passwordHash: 'leaked' })))
  await apply()
  await edit((draft) => draft.section('users').merge('u', { firstName: 'New' }))
  await apply(30)
  const secondFactor = { secret: 'A'.repeat(32), recoveryCodes: [], since: '2026-01-02T03:04:05.000Z' }
  const amending = { store, engine, onPromoted: () => undefined }
  await amendRecord(amending, 'users', 'u', () => ({ passwordHash: 'better', secondFactor }))
  clock.advance(30_000)
  await confirmation().start()
  const [{ value } = { value: undefined }] = store.running.list('users', '')
  test.match(value, { firstName: 'Old', passwordHash: 'better', secondFactor })
  test.match(store.changes(), [{ after: { value: { firstName: 'New', passwordHash: 'better', secondFactor } } }])
})
