import t, { type Test } from 'tap'
import { Plans } from '../../../src/config/plans.ts'
import type { PlannedEdits } from '../../../src/context/plans.ts'
import type { Change } from '../../../storage/config/config-store.ts'
import { configFixture, realServer, refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const ACTOR = { userId: 'u', email: 'ann@corp.test', name: 'Ann' }
const MINUTE_MS = 60_000

function fixture(test: Test) {
  const { store, editing } = configFixture(test)
  const clock = manualClock()
  const taken: (readonly Change[])[] = []
  const engine = {
    validate: async () => undefined,
    applyUnstaged: async (take: () => readonly Change[]) => {
      taken.push(take())
      return { applyId: 'a', revision: 1, confirmBy: undefined, isDryRun: false, warnings: [] } as never
    },
  }
  const asking = { actor: ACTOR, client: { address: '192.0.2.1' }, may: () => true } as never
  const plans = new Plans({ store, editing, engine, drivers: [], clock })
  const make = (work: (edits: PlannedEdits) => void) => plans.make(async (edits) => work(edits), asking)
  const apply = (id: string) => plans.apply(id, {}, asking)
  return { store, editing, clock, taken, make, apply }
}

const creating = (id: string) => (edits: PlannedEdits) =>
  edits.section('realServers').create(realServer(id, { name: 'web' }))

t.test('a plan is applied as it was made, once', async (test) => {
  const { store, taken, make, apply } = fixture(test)
  const plan = await make(creating('a'))
  test.match(plan.changes, [{ op: 'create', resource: 'realServers', name: 'web', effect: 'runtime', services: [] }])
  test.same([...store.changes()], [], 'nothing is pending')
  await apply(plan.planId)
  test.match(taken, [[{ section: 'realServers', key: 'a', actor: ACTOR.email, before: undefined }]])
  await refuses(test, 'NOT_FOUND', apply(plan.planId))
})

t.test('plans with the same effect have one digest, whatever ids they assign', async (test) => {
  const { make } = fixture(test)
  const [first, second] = ['01a21454-2047-7000-9c39-a050984a2877', '01a21454-2047-7000-9c39-a050984a2878']
  const { digest } = await make(creating(first))
  test.equal((await make(creating(second))).digest, digest)
  const other = (edits: PlannedEdits) =>
    edits.section('realServers').create(realServer(first, { name: 'web', weight: 7 }))
  test.not((await make(other)).digest, digest)
})

t.test('a record that was edited since is refused', async (test) => {
  const { editing, make, apply } = fixture(test)
  const plan = await make(creating('a'))
  const origin = { actor: 'ben', endpoint: 'realServers.create', at: '2026-01-02T03:04:05Z' }
  await editing.edit(origin, undefined, (draft) => draft.section('realServers').create(realServer('a', { name: 'x' })))
  await refuses(test, 'REVISION_MISMATCH', apply(plan.planId))
})

t.test('a plan that needs a pending change names its id', async (test) => {
  const { editing, store, make } = fixture(test)
  const origin = { actor: 'ben', endpoint: 'realServers.create', at: '2026-01-02T03:04:05Z' }
  await editing.edit(origin, undefined, (draft) => draft.section('realServers').create(realServer('a', { name: 'x' })))
  const renaming = make((edits) => edits.section('realServers').merge('a', { name: 'y' }))
  const field = new RegExp(`^${store.changes()[0]?.id}$`)
  await test.rejects(renaming, { code: 'DEPENDS_ON_PENDING', details: { errors: [{ field }] } })
})

t.test('a plan lasts a quarter of an hour, and the last 32 are kept', async (test) => {
  const { clock, make, apply } = fixture(test)
  const { planId, expiresAt } = await make(creating('a'))
  test.equal(Date.parse(expiresAt), clock.now_ms() + 15 * MINUTE_MS)
  clock.advance(15 * MINUTE_MS)
  await refuses(test, 'NOT_FOUND', apply(planId))
  const { planId: oldest } = await make(creating('a'))
  for (let more = 0; more < 31; more++) await make(creating('a'))
  const { planId: newest } = await make(creating('a'))
  await refuses(test, 'NOT_FOUND', apply(oldest))
  await apply(newest)
})
