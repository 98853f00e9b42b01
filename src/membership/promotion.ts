import type { EtcdClient } from '../etcd/client.ts'
import { EtcdError } from '../etcd/errors.ts'
import type { Member as EtcdMember } from '../etcd/members.ts'
import type { PeerClient } from '../peers/peer-client.ts'
import type { OwnMembership } from './cluster-files.ts'
import type { Members } from './members.ts'
import { askNode } from './questions.ts'

/** Asks whether a node has read which others may vote. */
export const KNOWS = '/knows'
const PATIENCE_MS = 2_000

export interface PromotionParts {
  readonly own: Pick<OwnMembership, 'nodeId'>
  readonly etcd: { readonly members: Pick<EtcdClient['members'], 'promote'> }
  readonly members: Pick<Members, 'get'>
  readonly peers: Pick<PeerClient, 'forward'>
  /** Whether a node or the witness is reachable. */
  readonly isReachable: (id: string) => boolean
}

/**
 * Gives a vote to members that have caught up, once they are reachable as members of the cluster: before that a crash
 * makes them forget that they joined, and a vote would be lost.
 *
 * One of two voters may continue alone. A third one ends that, so both must know of it before it votes: one that does
 * not would take the cluster over while the other two continue.
 */
export async function promote(parts: PromotionParts, listed: readonly EtcdMember[]): Promise<void> {
  const { own, etcd, isReachable } = parts
  for (const { id, name, isLearner } of listed) {
    if (!isLearner || (name !== own.nodeId && !isReachable(name))) continue
    if (!(await isKnown(parts, name, listed))) continue
    try {
      await etcd.members.promote(id)
    } catch (error) {
      // Not ready yet: the next look retries.
      if (!(error instanceof EtcdError)) throw error
    }
  }
}

async function isKnown({ own, members, peers }: PromotionParts, id: string, listed: readonly EtcdMember[]) {
  const voters = listed.filter(({ isLearner }) => !isLearner)
  if (voters.length !== 2) return true
  for (const { name: nodeId } of voters) {
    if (nodeId === own.nodeId || members.get(nodeId) === undefined) continue
    const question = { nodeId, path: KNOWS, body: { id }, timeout_ms: PATIENCE_MS }
    const answer: unknown = await askNode(peers, question).catch(() => undefined)
    if (Reflect.get(Object(answer), 'knows') !== true) return false
  }
  return true
}

/** Answers that question. */
export const answeringKnows = (members: () => Pick<Members, 'voter'>) => async (question: unknown) => ({
  knows: members().voter(String(Reflect.get(Object(question), 'id'))) !== undefined,
})
