import t from 'tap'
import { APPLIED, askAll } from '../../../src/membership/all-nodes.ts'
import { Members } from '../../../src/membership/members.ts'
import { PeerError } from '../../../src/peers/peer-error.ts'
import { openStore } from '../../fixtures/config.ts'
import { peersThatAnswer } from '../../fixtures/questions.ts'

t.test('all others are asked, and each without an answer has a reason', async (t) => {
  const members = new Members(openStore(t).members)
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) await members.add(() => ({ id, name: id, since: id }) as never)
  const { forward } = peersThatAnswer({ [APPLIED]: async () => 'said' })
  const { forward: silent } = peersThatAnswer({ [APPLIED]: async () => undefined })
  const ways: Readonly<Record<string, typeof forward>> = {
    b: forward,
    c: () => Promise.reject(new PeerError('unreachable', 'it refuses connections')),
    d: () => Promise.reject(new PeerError('aborted', 'The caller went away')),
    e: silent,
    f: peersThatAnswer({ [APPLIED]: async () => ({ said: 1 }) }).forward,
  }
  const membership = { members, forward: (request: Parameters<typeof forward>[0]) => ways[request.nodeId]!(request) }
  const told = await askAll(
    { self: 'a', membership },
    { path: APPLIED, isAnswer: (answer) => typeof answer === 'string', lost: (why) => `lost: ${why}` },
  )
  t.strictSame(
    [...told],
    [
      ['b', 'said'],
      ['c', 'lost: it refuses connections'],
      ['d', 'lost: It did not answer within 2 seconds'],
      ['e', 'lost: the node answered 503'],
      ['f', 'lost: This version of Fulcrum cannot read its answer'],
    ],
  )
})
