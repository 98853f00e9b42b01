import type { OtherNodes, RolloutAnswer, RolloutQuestion } from '../config/rollout/other-nodes.ts'
import type { JoinedCluster } from './joined-cluster.ts'
import type { Members } from './members.ts'
import { askNode } from './questions.ts'

export const ROLLOUT = '/rollout'

/** The other nodes, for an apply. */
export function rolloutNodes({ own, peers }: JoinedCluster, members: Members): OtherNodes {
  return {
    members: () => members.all().filter(({ id }) => id !== own.nodeId),
    isLive: (nodeId) => peers.livenessOf(nodeId).isReachable,
    // Sound: all nodes of this version answer the same.
    ask: async (nodeId, body, timeout_ms) =>
      (await askNode(peers, { nodeId, path: ROLLOUT, body, timeout_ms })) as RolloutAnswer,
  }
}

/** Answers rollout questions; `answer` returns nothing if its engine dates from before the node joined. */
export const answeringRollouts =
  (answer: (question: RolloutQuestion) => Promise<RolloutAnswer> | undefined) =>
  (question: unknown): Promise<RolloutAnswer> | undefined =>
    answer(question as RolloutQuestion)
