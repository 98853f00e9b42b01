import t from 'tap'
import { applyState } from '../../../src/config/apply-state.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { configFixture, realServer } from '../../fixtures/config.ts'
import { promoteIn } from '../../fixtures/entries.ts'

const HEADER = { applyId: 'x', by: 'ann@corp.example', at: '2026-01-02T03:04:05.000Z', comment: 'a word' }

t.test('idle has the last apply, waiting the remaining time, applying the changes', async (test) => {
  const { store, edit } = configFixture(test)
  const clock = manualClock()
  const none = { by: null, comment: '', startedAt: null, confirmBy: null, secondsLeft: null }
  test.same(applyState(store, clock, undefined), { state: 'idle', revision: 0, ...none })
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const unconfirmed = {
    applyId: 'x',
    revision: 1,
    by: HEADER.by,
    confirmBy: '2026-01-02T03:05:00.000Z',
    deadline: { bootId: clock.bootId, uptime_ms: clock.uptime_ms() + 30_000 },
  }
  await promoteIn(store, store.changes(), { ...HEADER, revision: 1 }, { unconfirmed })
  const made = { revision: 1, by: HEADER.by, comment: 'a word', startedAt: HEADER.at }
  clock.advance(10_001)
  const waiting = { state: 'waiting', ...made, confirmBy: unconfirmed.confirmBy, secondsLeft: 20 }
  test.same(applyState(store, clock, undefined), waiting, 'in whole seconds, the last of which is not over')
  test.equal(
    applyState(store, { ...clock, bootId: 'another' }, undefined).secondsLeft,
    0,
    'after a start of the machine',
  )
  clock.advance(60_000)
  test.equal(applyState(store, clock, undefined).secondsLeft, 0)
  const begun = { by: 'bob@corp.example', comment: '', at: '2026-01-02T04:00:00.000Z' }
  test.match(applyState(store, clock, begun), { state: 'applying', revision: 2, by: begun.by, startedAt: begun.at })
  await store.write({ op: 'confirm', applyId: HEADER.applyId })
  test.same(applyState(store, clock, undefined), { state: 'idle', ...made, confirmBy: null, secondsLeft: null })
})
