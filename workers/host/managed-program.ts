import type { RunResult, UnitState, UnitVerb } from '../../src/drivers/host.ts'

/** One managed program on this machine, however it is run. */
export interface ManagedProgram {
  perform(verb: UnitVerb, timeout_ms: number): Promise<RunResult>
  state(): Promise<UnitState>
}

export interface RunOptions {
  /** For its standard input; never part of an error or a log. */
  readonly input?: string
  /** Outside the confinement of the daemon's own unit. */
  readonly isUnconfined?: boolean
  /** See Outside. */
  readonly runtimeDirectory?: string
  /** Bytes of output that are kept; 64 KiB unless told. */
  readonly output_max?: number
}
/** Runs a program without a shell. */
export type Run = (argv: readonly string[], timeout_ms: number, options?: RunOptions) => Promise<RunResult>

/** A program started in a session of its own. */
export interface Detached {
  readonly pid: number
  /** Settles when the program ends, with a sentence about how. Never settles for one that outlives this process. */
  readonly ended: Promise<string>
}
export type StartDetached = (
  argv: readonly string[],
  options: {
    readonly folder: string
    readonly logFile: string
    /** Beside what every program has. */
    readonly environment?: Readonly<Record<string, string>>
  },
) => Promise<Detached>
