import type { Warning } from '../model/warning.ts'
import type { Asking } from './asking.ts'

/** Selects the pending changes that go live: all of them by default. */
export interface Choice {
  /** Ids of pending changes. */
  readonly changes?: readonly string[] | undefined
  /** Only the changes that the caller alone has made. */
  readonly mine?: boolean | undefined
  /** The edits of the caller's transaction instead of pending changes; the transaction ends with the apply. */
  readonly transactionId?: string | undefined
}

/** The apply under way, else the one that waits, else the last one. */
export interface ApplyState {
  readonly state: 'idle' | 'applying' | 'waiting'
  /** The running revision; during an apply, the one being made. */
  readonly revision: number
  /** E-mail address; null if nothing was ever applied. */
  readonly by: string | null
  readonly comment: string
  /** ISO 8601. */
  readonly startedAt: string | null
  /** ISO 8601; null unless it waits. */
  readonly confirmBy: string | null
  /** Whole seconds until the apply is taken back; null unless it waits. */
  readonly secondsLeft: number | null
}

/** A node's report on its own machine. */
export interface AppliedHere extends Pick<ApplyState, 'state'> {
  /** The revision that its machine has. */
  readonly revision: number
}
/** The outcome of the last apply on a node. */
export interface NodeApplied {
  readonly nodeId: string
  readonly state: ApplyState['state'] | 'unknown'
  /** The revision that its machine has; null if it does not answer. */
  readonly revision: number | null
  /** `missed`: the node was away, and follows. */
  readonly outcome: 'applied' | 'missed' | 'unknown'
}

export interface ApplyOptions extends Choice {
  readonly force: 'restart' | undefined
  readonly comment?: string | undefined
  /** Seconds until the apply is taken back unless it is confirmed. */
  readonly confirmWithin?: number | undefined
  /** Applies even if that could cut the caller off. */
  readonly isForced?: boolean | undefined
  /** Refuses to apply if there are warnings. */
  readonly refuseWarnings?: boolean | undefined
  /** Applies on this node only: the changes stay pending for the others. */
  readonly onlyHere?: boolean | undefined
}
/** The records that an apply made live; of many, only the first are listed. */
export interface WentLive {
  readonly revision: number
  readonly told: readonly {
    readonly op: 'create' | 'update' | 'delete'
    readonly resource: string
    readonly resourceId: string
    readonly name: string
    /** All users who changed it while it was pending, the last one first. */
    readonly by: string
  }[]
  readonly more: number
}
/** The outcome of an apply on one node. */
export interface NodeOutcome {
  readonly nodeId: string
  readonly ok: boolean
  /**
   * `missed`: the node was away when the apply began, and follows when it is back. `failed`: it did not apply, or could
   * not undo. `unknown`: it does not answer.
   */
  readonly state: 'applied' | 'missed' | 'takenBack' | 'failed' | 'unknown'
  /** What failed; empty if nothing did. */
  readonly why: string
  readonly output: string
}

export interface Applied {
  readonly applyId: string
  readonly revision: number
  /** ISO 8601; undefined if no confirmation is needed. */
  readonly confirmBy: string | undefined
  /** Whether some of it was only recorded, because the profile does not touch the machine. */
  readonly isDryRun: boolean
  /** Warnings that occurred during the apply, as sentences. */
  readonly warnings: readonly string[]
  /** Absent if this node is the only one. */
  readonly nodes?: readonly NodeOutcome[]
  /** Absent if nothing was pending. */
  readonly live?: WentLive
  /** Warnings about the changes themselves. */
  readonly told?: readonly Warning[]
}

export interface ApplyReader {
  readonly state: ApplyState
  /** Returns all nodes, this node first. */
  nodes(): Promise<readonly NodeApplied[]>
}
export interface ApplyActor extends ApplyReader {
  apply(options: ApplyOptions, asking: Asking): Promise<Applied>
  /** Keeps the last apply; refuses with NOT_FOUND if none waits for confirmation. */
  confirm(asking: Asking): Promise<{ readonly revision: number }>
  /** Takes the waiting apply back at once; refuses with NOT_FOUND if none waits. Resolves with what this made live. */
  revert(asking: Asking): Promise<WentLive>
}
