import { PeerError } from '../peers/peer-error.ts'
import type { Membership } from './membership.ts'
import { askNode } from './questions.ts'

/** What its kernel balances. */
export const LAYER_4 = '/layer4'
/** What it does about applies. */
export const APPLIED = '/applied'
/** How many connections it has to a real server. */
export const CONNECTIONS = '/connections'

/** What its clock says. */
export const TIME = '/time'

/** How long a node may take that many wait for. */
export const PATIENCE_MS = 2_000

export interface AskingAll {
  /** This node, which is not asked. */
  readonly self: string
  readonly membership: Pick<Membership, 'members' | 'forward'>
}

export interface QuestionToAll<T> {
  readonly path: string
  readonly body?: object
  readonly isAnswer: (answer: unknown) => answer is T
  /** What stands for the answer of a node that gives none, or one that this version does not know. */
  readonly lost: (why: string) => T
}

/** What every other node answers to a question, all asked at once. */
export async function askAll<T>(
  { self, membership }: AskingAll,
  { path, body = {}, isAnswer, lost }: QuestionToAll<T>,
): Promise<ReadonlyMap<string, T>> {
  const ask = async (nodeId: string): Promise<readonly [string, T]> => {
    try {
      const answer = await askNode(membership, { nodeId, path, body, timeout_ms: PATIENCE_MS })
      return [nodeId, isAnswer(answer) ? answer : lost('Its answer is unknown to this version of Fulcrum')]
    } catch (error) {
      return [nodeId, lost(whyOf(error))]
    }
  }
  return new Map(await Promise.all(membership.members.othersThan(self).map(ask)))
}

function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Only this patience ends a question.
  const isLate = error instanceof PeerError && error.kind === 'aborted'
  return isLate ? `It did not answer within ${PATIENCE_MS / 1000} seconds` : error.message
}
