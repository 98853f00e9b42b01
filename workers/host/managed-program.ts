import type { RunResult, UnitState, UnitVerb } from '../../src/drivers/host.ts'

/** One managed program on this machine, however it is run. */
export interface ManagedProgram {
  perform(verb: UnitVerb, timeout_ms: number): Promise<RunResult>
  state(): Promise<UnitState>
}

export interface RunOptions {
  /** Text for the standard input; never part of an error or a log. */
  readonly input?: string
  /** Whether to run outside the confinement of the daemon's own unit. */
  readonly isUnconfined?: boolean
  /** See Outside. */
  readonly runtimeDirectory?: string
  /** Bytes of output that are kept; 64 KiB by default. */
  readonly output_max?: number
}
/** Runs a program without a shell. */
export type Run = (argv: readonly string[], timeout_ms: number, options?: RunOptions) => Promise<RunResult>

/** A program that was started in its own session. */
export interface Detached {
  readonly pid: number
  /** Resolves when the program ends, with a sentence about how. Never settles if the program outlives this process. */
  readonly ended: Promise<string>
}
export type StartDetached = (
  argv: readonly string[],
  options: {
    readonly folder: string
    readonly logFile: string
    /** Variables in addition to those that every program gets. */
    readonly environment?: Readonly<Record<string, string>>
  },
) => Promise<Detached>
