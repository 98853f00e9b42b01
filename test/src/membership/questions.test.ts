import t from 'tap'
import { askNode } from '../../../src/membership/questions.ts'
import { OF_THE_API, peersThatAnswer } from '../../fixtures/questions.ts'

const question = (path: string) => ({ nodeId: 'b', path, body: { n: 1 }, timeout_ms: 1_000 })

t.test('a question is answered by its path, and all others are left to the API', async (t) => {
  const peers = peersThatAnswer({ '/twice': async (asked) => ({ n: 2 * (asked as { n: number }).n }) })
  t.same(await askNode(peers, question('/twice')), { n: 2 })
  for (const path of ['/api/v1/twice', '/toString'])
    await t.rejects(askNode(peers, question(path)), new Error(`the node answered ${OF_THE_API}`))
})

t.test('a node that cannot answer says so', async (t) => {
  const peers = peersThatAnswer({ '/rollout': () => undefined })
  await t.rejects(askNode(peers, question('/rollout')), /answered 503/)
})
