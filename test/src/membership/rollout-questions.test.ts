import t from 'tap'
import { Members } from '../../../src/membership/members.ts'
import { answeringRollouts, ROLLOUT, rolloutNodes } from '../../../src/membership/rollout-questions.ts'
import { openStore } from '../../fixtures/config.ts'
import { peersThatAnswer } from '../../fixtures/questions.ts'

t.test('a question reaches the engine of the other node', async (t) => {
  const answers = answeringRollouts(async ({ applyId }) => ({ ok: true, isDryRun: false, warnings: [applyId] }))
  const { forward } = peersThatAnswer({ [ROLLOUT]: answers })
  const peers = { livenessOf: (id: string) => ({ isReachable: id === 'b' }), forward }
  const members = new Members(openStore(t).members)
  for (const id of ['a', 'b', 'c']) await members.add(() => ({ id, name: id, since: id }) as never)
  const others = rolloutNodes({ own: { nodeId: 'a' }, peers } as never, members)
  t.same(
    others.members().map(({ id }) => id),
    ['b', 'c'],
  )
  t.same([others.isLive('b'), others.isLive('c')], [true, false])
  t.same(await others.ask('b', { ask: 'prepare', applyId: 'x' }, 1_000), { ok: true, isDryRun: false, warnings: ['x'] })
})
