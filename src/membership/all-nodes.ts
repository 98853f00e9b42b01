import { PeerError } from '../peers/peer-error.ts'
import type { Membership } from './membership.ts'
import { askNode } from './questions.ts'

/** Asks for a node's Layer 4 state. */
export const LAYER_4 = '/layer4'
/** Asks what a node does about applies. */
export const APPLIED = '/applied'
/** Asks for a node's number of connections to a real server. */
export const CONNECTIONS = '/connections'

/** Asks for the time of a node's clock. */
export const TIME = '/time'

/** Deadline for a node when the answer needs all nodes. */
export const PATIENCE_MS = 2_000

export interface AskingAll {
  /** Id of this node, which is not asked. */
  readonly self: string
  readonly membership: Pick<Membership, 'members' | 'forward'>
}

export interface QuestionToAll<T> {
  readonly path: string
  readonly body?: object
  readonly isAnswer: (answer: unknown) => answer is T
  /** Makes the substitute for an answer that is missing, or unknown to this version. */
  readonly lost: (why: string) => T
}

/** Asks all other nodes at once, and returns their answers. */
export async function askAll<T>(
  { self, membership }: AskingAll,
  { path, body = {}, isAnswer, lost }: QuestionToAll<T>,
): Promise<ReadonlyMap<string, T>> {
  const ask = async (nodeId: string): Promise<readonly [string, T]> => {
    try {
      const answer = await askNode(membership, { nodeId, path, body, timeout_ms: PATIENCE_MS })
      return [nodeId, isAnswer(answer) ? answer : lost('This version of Fulcrum cannot read its answer')]
    } catch (error) {
      return [nodeId, lost(whyOf(error))]
    }
  }
  return new Map(await Promise.all(membership.members.othersThan(self).map(ask)))
}

function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Only this deadline aborts a question.
  const isLate = error instanceof PeerError && error.kind === 'aborted'
  return isLate ? `It did not answer within ${PATIENCE_MS / 1000} seconds` : error.message
}
