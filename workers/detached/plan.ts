import type { ProcessMark } from '../../src/base/process-mark.ts'

/**
 * What the detached program does, and what it tells of it. Both are files of its folder: plan.json and status.json.
 * None of them holds a secret.
 */

/** Runs one program. */
export interface ProgramStep {
  readonly kind: 'program'
  readonly why: string
  /** Share of the whole, for the progress. */
  readonly weight: number
  readonly argv: readonly string[]
  readonly timeout_ms: number
  /** Failures that do not end the plan: it is tried, and goes on. */
  readonly mayFail?: true
  /** Text of a failure that passes by itself: it is tried again for some minutes. */
  readonly retriedFor?: string
  /** Text of a failure that says that it was done before. */
  readonly doneWhen?: string
  /** Any output is a failure. */
  readonly isSilent?: true
  /** `apt` tells its progress on descriptor 3, see APT::Status-Fd. */
  readonly progress?: 'apt'
  /** File of the folder that gets the standard output, instead of the log. */
  readonly output?: string
  /** Done when the program has failed, before the plan ends. */
  readonly otherwise?: readonly DetachedStep[]
}
/** Package sources with other suites: in a folder of copies, or in their place after they were saved. */
export interface SuitesStep {
  readonly kind: 'suites'
  readonly why: string
  readonly weight: number
  readonly files: readonly string[]
  readonly suites: readonly { readonly from: string; readonly to: string }[]
  /** Folder for the copies; undefined changes the files themselves. */
  readonly into?: string
}
/** Puts back what a SuitesStep has saved. */
export interface PutBackStep {
  readonly kind: 'putBack'
  readonly why: string
  readonly weight: number
}
export type DetachedStep = ProgramStep | SuitesStep | PutBackStep

export interface DetachedPlan {
  readonly steps: readonly DetachedStep[]
  /** Done before a step that was interrupted is begun again; their failures end nothing. */
  readonly repair: readonly DetachedStep[]
}

export interface DetachedStatus {
  readonly state: 'running' | 'succeeded' | 'failed'
  /** Index of the step that is or was done. */
  readonly step: number
  /** What is done right now. */
  readonly text: string
  /** Percent. */
  readonly progress: number
  /** How often the plan was begun, or gone on with. */
  readonly starts: number
  /** Why it failed: what was done, and the last lines of the output. */
  readonly problem: string | null
  readonly process: ProcessMark
}
