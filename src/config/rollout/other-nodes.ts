import type { ErrorCode, ErrorDetails } from '../../base/errors.ts'

/** What an apply needs of the other nodes of the cluster. */
export interface OtherNodes {
  /** All but this one. */
  members(): readonly NodeName[]
  /** Whether that member is known to be up. */
  isLive(nodeId: string): boolean
  /** Rejects when the node cannot be reached, or has not answered in this time. */
  ask(nodeId: string, question: RolloutQuestion, timeout_ms: number): Promise<RolloutAnswer>
}

export interface NodeName {
  readonly id: string
  readonly name: string
}

/**
 * `prepare`: could you do this? Nothing changes. `enact`: do it, and stay so until the log says what becomes of it.
 * `goBack`: the log has said that it comes to nothing; are you as before?
 */
export interface RolloutQuestion {
  readonly ask: 'prepare' | 'enact' | 'goBack'
  readonly applyId: string
}

/** JSON. */
export type RolloutAnswer =
  | { readonly ok: true; readonly isDryRun: boolean; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly refusal: Refusal }

/** An ApiError on its way between nodes. */
export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
  readonly details: ErrorDetails
}
