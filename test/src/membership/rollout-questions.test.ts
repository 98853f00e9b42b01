import { Readable } from 'node:stream'
import t from 'tap'
import type { PeerRequest } from '../../../src/peers/answering.ts'
import { Members } from '../../../src/membership/members.ts'
import { answeringRollouts, rolloutNodes } from '../../../src/membership/rollout-questions.ts'
import { openStore } from '../../fixtures/config.ts'

const requestTo = (path: string, body = ''): PeerRequest =>
  ({ method: 'POST', path, query: '', headers: {}, requestId: 'r', body: Readable.from([Buffer.from(body)]) }) as never

t.test('a question reaches the engine of the other node, and nothing else does', async (t) => {
  const handle = answeringRollouts(
    async ({ applyId }) => ({ ok: true, isDryRun: false, warnings: [applyId] }),
    () => ({ status: 418, headers: {} }),
  )
  const peers = {
    livenessOf: (id: string) => ({ isReachable: id === 'b' }),
    async forward({ path, body }: { readonly path: string; readonly body: string }) {
      const { status, body: said } = await handle(requestTo(path, body))
      return { status, body: Readable.from([Buffer.from(typeof said === 'string' ? said : '')]) }
    },
  }
  const members = new Members(openStore(t).members)
  for (const id of ['a', 'b', 'c']) await members.put({ id, name: id, since: id } as never)
  const others = rolloutNodes({ own: { nodeId: 'a' }, peers } as never, members)
  t.same(
    others.members().map(({ id }) => id),
    ['b', 'c'],
  )
  t.same([others.isLive('b'), others.isLive('c')], [true, false])
  t.same(await others.ask('b', { ask: 'prepare', applyId: 'x' }, 1_000), { ok: true, isDryRun: false, warnings: ['x'] })
  t.match(await handle(requestTo('/api/v1/rollout')), { status: 418 })
})

t.test('a node that has joined a moment ago takes part in none', async (t) => {
  const handle = answeringRollouts(
    () => undefined,
    () => ({ status: 200, headers: {} }),
  )
  t.match(await handle(requestTo('/rollout', '{}')), { status: 503 })
})
