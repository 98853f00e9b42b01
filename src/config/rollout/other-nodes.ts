import type { ErrorCode, ErrorDetails } from '../../base/errors.ts'

/** The operations on other nodes of the cluster that an apply needs. */
export interface OtherNodes {
  /** All members except this node. */
  members(): readonly NodeName[]
  /** Returns whether the member is known to be up. */
  isLive(nodeId: string): boolean
  /** Rejects if the node cannot be reached, or has not answered within this time. */
  ask(nodeId: string, question: RolloutQuestion, timeout_ms: number): Promise<RolloutAnswer>
}

export interface NodeName {
  readonly id: string
  readonly name: string
}

/**
 * `prepare`: could you do this? Nothing changes. `enact`: do it, and keep it until the log has decided. `goBack`: the
 * log has said that the apply comes to nothing; are you as before?
 */
export interface RolloutQuestion {
  readonly ask: 'prepare' | 'enact' | 'goBack'
  readonly applyId: string
}

/** Sent as JSON. */
export type RolloutAnswer =
  | { readonly ok: true; readonly isDryRun: boolean; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly refusal: Refusal }

/** An ApiError as nodes send it to each other. */
export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
  readonly details: ErrorDetails
}
