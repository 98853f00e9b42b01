import type { ProcessMark } from '../../src/base/process-mark.ts'

/** The plan of the detached program and its report: plan.json and status.json in its folder. Neither holds a secret. */

/** Runs one program. */
export interface ProgramStep {
  readonly kind: 'program'
  readonly why: string
  /** Share of the whole plan, for the progress. */
  readonly weight: number
  readonly argv: readonly string[]
  readonly timeout_ms: number
  /** A failure does not end the plan. */
  readonly mayFail?: true
  /** Text of a temporary failure: the program is retried for some minutes. */
  readonly retriedFor?: string
  /** Text of a failure that means that the work was already done. */
  readonly doneWhen?: string
  /** Any output is a failure. */
  readonly isSilent?: true
  /** `apt` reports its progress on descriptor 3, see APT::Status-Fd. */
  readonly progress?: 'apt'
  /** File in the folder for the standard output, which is not logged then. */
  readonly output?: string
  /** Steps that are carried out if the program fails, before the plan ends. */
  readonly otherwise?: readonly DetachedStep[]
}
/** Package sources with other suites: written to a folder of copies, or in place after the originals were saved. */
export interface SuitesStep {
  readonly kind: 'suites'
  readonly why: string
  readonly weight: number
  readonly files: readonly string[]
  readonly suites: readonly { readonly from: string; readonly to: string }[]
  /** Folder for the copies; if undefined, the files themselves are changed. */
  readonly into?: string
}
/** Restores the files that a SuitesStep has saved. */
export interface PutBackStep {
  readonly kind: 'putBack'
  readonly why: string
  readonly weight: number
}
export type DetachedStep = ProgramStep | SuitesStep | PutBackStep

export interface DetachedPlan {
  readonly steps: readonly DetachedStep[]
  /** Steps that precede a retry of an interrupted step; their failures end nothing. */
  readonly repair: readonly DetachedStep[]
}

export interface DetachedStatus {
  readonly state: 'running' | 'succeeded' | 'failed'
  /** Index of the current or last step. */
  readonly step: number
  /** Description of the current work. */
  readonly text: string
  /** Percent. */
  readonly progress: number
  /** How often the plan was started or continued. */
  readonly starts: number
  /** Reason of the failure: the step that failed, and its last lines of output. */
  readonly problem: string | null
  readonly process: ProcessMark
}
