import type { Warning } from '../model/warning.ts'
import type { Asking } from './asking.ts'

/** Which of the pending changes go live: all of them, when nothing is said. */
export interface Choice {
  /** Ids. */
  readonly changes?: readonly string[] | undefined
  /** Only changes that nobody but the caller has made. */
  readonly mine?: boolean | undefined
  /** Instead of pending changes, the edits of the caller's transaction, which ends with it. */
  readonly transactionId?: string | undefined
}

/** What is being applied, waits, or was applied last. */
export interface ApplyState {
  readonly state: 'idle' | 'applying' | 'waiting'
  /** Revision that runs; during an apply, the one that is being made. */
  readonly revision: number
  /** E-mail; null when nothing was ever applied. */
  readonly by: string | null
  readonly comment: string
  /** ISO 8601. */
  readonly startedAt: string | null
  /** ISO 8601; null unless it waits. */
  readonly confirmBy: string | null
  /** Whole seconds until it is taken back; null unless it waits. */
  readonly secondsLeft: number | null
}

/** What a node tells of its own machine. */
export interface AppliedHere extends Pick<ApplyState, 'state'> {
  /** Revision that its machine runs. */
  readonly revision: number
}
/** What came of the last apply on a node. */
export interface NodeApplied {
  readonly nodeId: string
  readonly state: ApplyState['state'] | 'unknown'
  /** Revision that its machine runs; null if it does not answer. */
  readonly revision: number | null
  /** `missed`: it was away, and follows. */
  readonly outcome: 'applied' | 'missed' | 'unknown'
}

export interface ApplyOptions extends Choice {
  readonly force: 'restart' | undefined
  readonly comment?: string | undefined
  /** Seconds after which the apply is taken back unless it was confirmed. */
  readonly confirmWithin?: number | undefined
  /** Also when it could cut the caller off. */
  readonly isForced?: boolean | undefined
  /** Not when there are warnings. */
  readonly refuseWarnings?: boolean | undefined
  /** Only on this node: what goes live stays pending for the others. */
  readonly onlyHere?: boolean | undefined
}
/** What an apply made live; of many, the first are told. */
export interface WentLive {
  readonly revision: number
  readonly told: readonly {
    readonly op: 'create' | 'update' | 'delete'
    readonly resource: string
    readonly resourceId: string
    readonly name: string
    /** Everybody who changed it while it was pending, the last one first. */
    readonly by: string
  }[]
  readonly more: number
}
/** What came of an apply on one node. */
export interface NodeOutcome {
  readonly nodeId: string
  readonly ok: boolean
  /**
   * `missed`: it was away when the apply began, and follows when it is back. `failed`: it did not do it, or could not
   * undo it. `unknown`: it does not answer.
   */
  readonly state: 'applied' | 'missed' | 'takenBack' | 'failed' | 'unknown'
  /** What failed; empty where nothing did. */
  readonly why: string
  readonly output: string
}

export interface Applied {
  readonly applyId: string
  readonly revision: number
  /** ISO 8601; undefined when no confirmation is needed. */
  readonly confirmBy: string | undefined
  /** Some of it was only recorded, because the profile keeps hands off the machine. */
  readonly isDryRun: boolean
  /** What it met, in sentences. */
  readonly warnings: readonly string[]
  /** Absent on the only node. */
  readonly nodes?: readonly NodeOutcome[]
  /** Absent when nothing was pending. */
  readonly live?: WentLive
  /** What should be known of the changes. */
  readonly told?: readonly Warning[]
}

export interface ApplyReader {
  readonly state: ApplyState
  /** This node first. */
  nodes(): Promise<readonly NodeApplied[]>
}
export interface ApplyActor extends ApplyReader {
  apply(options: ApplyOptions, asking: Asking): Promise<Applied>
  /** Keeps the last apply; refuses with NOT_FOUND when none waits for it. */
  confirm(asking: Asking): Promise<{ readonly revision: number }>
  /** Takes the apply that waits back at once; refuses with NOT_FOUND when none does. Answers what this made live. */
  revert(asking: Asking): Promise<WentLive>
}
