import t from 'tap'
import { decisionOn, refuseUnderWay, thaw } from '../../../../src/config/rollout/decision.ts'
import { configFixture, realServer, refuses } from '../../../fixtures/config.ts'
import { freezeIn, promoteIn } from '../../../fixtures/entries.ts'

const HEADER = { applyId: 'x', revision: 1, by: 'ann', at: '', comment: '' }

t.test('the log decides an apply once: by its promotion or its end', async (test) => {
  const { store, edit } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await freezeIn(store, () => true, 'x')
  test.equal(decisionOn(store, HEADER), 'open')
  await thaw(store, 'x')
  test.equal(decisionOn(store, HEADER), 'thawed')
  await thaw(store, 'x')
  await test.rejects(store.write({ op: 'promote', header: HEADER }), /nothing is frozen/)
  const frozen = await freezeIn(store, () => true, 'x')
  await promoteIn(store, frozen, HEADER)
  test.equal(decisionOn(store, HEADER), 'promoted')
  test.equal(decisionOn(store, { applyId: 'y', revision: 1 }), 'thawed')
})

t.test('while nodes apply, other applies are refused, with user and node', async (test) => {
  const { store } = configFixture(test)
  refuseUnderWay(store, undefined)
  const asked = { nodeId: 'b', header: HEADER, atLeast: 'runtime' } as const
  await store.write({ op: 'freeze', applyId: 'x', changes: [], asked })
  const others = { members: () => [{ id: 'b', name: 'north' }] }
  const error = await refuses(test, 'APPLY_IN_PROGRESS', () => refuseUnderWay(store, others))
  test.match(error.message, /by ann on north/)
  test.same(error.details, { headers: { 'Retry-After': '1' }, data: { nodeId: 'b' } })
  await thaw(store, 'x')
  refuseUnderWay(store, others)
})
