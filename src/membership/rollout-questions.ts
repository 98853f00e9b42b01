import { buffer } from 'node:stream/consumers'
import type { OtherNodes, RolloutAnswer, RolloutQuestion } from '../config/rollout/other-nodes.ts'
import type { PeerAnswer, PeerHandler, PeerRequest } from '../peers/answering.ts'
import { newId } from '../base/ids.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Members } from './members.ts'

/** What nodes ask each other about an apply travels as a request that no client can send: its path is not the API's. */
const PATH = '/rollout'
/** Of whoever leads an apply; nobody judges rights by it. */
const LEADER = { userId: 'fulcrum', email: 'fulcrum', sessionId: 'fulcrum', address: '::' } as const

/** The other nodes, as an apply needs them. */
export function rolloutNodes({ own, peers }: JoinedCluster, members: Members): OtherNodes {
  return {
    members: () => members.all().filter(({ id }) => id !== own.nodeId),
    isLive: (nodeId) => peers.livenessOf(nodeId).isReachable,
    async ask(nodeId, question, timeout_ms) {
      const { status, body } = await peers.forward({
        nodeId,
        method: 'POST',
        path: PATH,
        query: '',
        headers: { 'content-type': 'application/json' },
        requestId: newId(),
        who: LEADER,
        body: JSON.stringify(question),
        signal: AbortSignal.timeout(timeout_ms),
      })
      const text = await buffer(body)
      if (status !== 200) throw new Error(`the node answered ${status}`)
      // Sound: only members are asked, and all of this version answer the same.
      return JSON.parse(text.toString()) as RolloutAnswer
    },
  }
}

/** Answers such questions, and gives everything else to `handle`. */
export function answeringRollouts(
  answer: (question: RolloutQuestion) => Promise<RolloutAnswer> | undefined,
  handle: PeerHandler,
): PeerHandler {
  return (request) => (request.path === PATH ? answered(request, answer) : handle(request))
}

async function answered(
  { body }: PeerRequest,
  answer: (question: RolloutQuestion) => Promise<RolloutAnswer> | undefined,
): Promise<PeerAnswer> {
  const question = JSON.parse((await buffer(body)).toString()) as RolloutQuestion
  const said = await answer(question)
  // It has joined a moment ago, and its engine is of the time before.
  if (said === undefined) return { status: 503, headers: {} }
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(said) }
}
