import t from 'tap'
import { Enactor } from '../../../src/config/enactor.ts'
import { requireWaiting, takeBack } from '../../../src/config/take-back.ts'
import type { Step } from '../../../src/drivers/driver.ts'
import { configFixture, ENGINE_DEFAULTS, realServer, refuses } from '../../fixtures/config.ts'
import { promoteIn } from '../../fixtures/entries.ts'

const HEADER = { applyId: 'x', revision: 2, by: 'ann@corp.example', at: '2026-01-02T03:04:05.000Z', comment: 'back' }

t.test(
  'running is reverted first, as a new revision, then the machine; its changes are pending again',
  async (test) => {
    const { store, edit, promote } = configFixture(test)
    await edit((draft) => draft.section('realServers').create(realServer('a')))
    await promote()
    const seen: unknown[] = []
    const step: Step = { kind: 'run', argv: ['true'], undo: [], why: 'follow', timeout_ms: 1000 } as never
    const executor = {
      execute: async (steps: readonly Step[]) => {
        seen.push(
          steps.map(({ why }) => why),
          store.revision,
          store.running.get('realServers', '', 'a'),
        )
        return { ok: true, done: steps.length, recorded: 0, warnings: [] } as const
      },
      check: async () => ({ ok: true, done: 0, recorded: 0, warnings: [] }) as const,
    }
    const driver = {
      name: 'd',
      sections: [],
      prepare: () => [],
      verify: () => [],
      plan: () => [step],
      render: () => [],
    }
    const told: unknown[] = []
    const tell = (outcome: object) => told.push(outcome)
    const parts = { ...ENGINE_DEFAULTS, store, drivers: [driver as never], executor, tell }
    await takeBack(parts, new Enactor(parts), HEADER)
    test.same(seen, [['follow'], 2, undefined])
    test.match(store.changes(), [{ key: 'a', actor: 'tester@localhost' }])
    test.match(told, [{ state: 'reverted', by: HEADER.by, revision: 2, changes: 1 }])
    test.equal(store.journal(), undefined)
  },
)

t.test('parts that could not follow are reported', async (test) => {
  const { store, edit, promote } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await promote()
  const failed = {
    ok: false,
    failedStep: 0,
    kind: 'run',
    why: 'follow',
    output: 'no',
    undone: false,
    exitCode: 1,
  } as const
  const executor = { execute: async () => failed as never, check: async () => failed as never }
  const step: Step = { kind: 'run', argv: ['true'], undo: [], why: 'follow', timeout_ms: 1000 } as never
  const driver = { name: 'd', sections: [], prepare: () => [], verify: () => [], plan: () => [step], render: () => [] }
  const parts = { ...ENGINE_DEFAULTS, store, drivers: [driver as never], executor }
  const taken = await takeBack(parts, new Enactor(parts), HEADER)
  test.match(taken, {
    revision: 2,
    live: { revision: 2, told: [{ op: 'delete', by: HEADER.by }] },
    failed: { why: 'follow' },
  })
  test.ok(store.journal(), 'it is retried')
})

t.test('nothing waits, or it is not one’s own', async (test) => {
  const { store, edit } = configFixture(test)
  await refuses(test, 'NOT_FOUND', () => requireWaiting(store, undefined, 'wait'))
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const deadline = { bootId: 'b', uptime_ms: 0 }
  const unconfirmed = { applyId: 'x', revision: 1, by: 'ann', confirmBy: '2026-01-02T03:04:05.000Z', deadline }
  await promoteIn(store, store.changes(), { ...HEADER, revision: 1 }, { unconfirmed })
  const error = await refuses(test, 'PERMISSION_DENIED', () => requireWaiting(store, () => false, 'wait'))
  test.match(error.message, /wait/)
  test.same(
    requireWaiting(store, () => true, 'wait'),
    unconfirmed,
  )
})
