import type { AccountChange, DesiredNetwork, NetworkPhase, Outside, Setting, UnitName, UnitVerb } from './host.ts'
import type { Problem } from '../model/problem.ts'
import type { ConfigView, RecordChange, SectionName } from '../model/sections.ts'

interface StepBase {
  /** Purpose of this step, shown in plan previews and in failures. */
  readonly why: string
  readonly timeout_ms: number
  /** Runs after the rest of the plan, even after the network has lost addresses. */
  readonly isLast?: true
}

/** A file whose content may contain places. */
interface NamingInterfaces {
  /** The content has places for this machine's interface names: see `interfacePlace`. */
  readonly namesInterfaces?: true
}

/** A port that a program is about to listen on. */
export interface PortClaim {
  readonly ip: string
  readonly port: number
  /** The record that claims the port, in the program's words, so that `diagnose` finds it: "frontend abc". */
  readonly claimant: string
  /** Whether the program may already hold the port, because of a configuration that is not ours. */
  readonly isInherited?: true
}

/**
 * Writes `path`.candidate and lets the program's own checker judge that exact file, then tries the ports, which
 * checkers do not. Undo: remove the candidate.
 */
export interface CheckStep extends StepBase, NamingInterfaces {
  readonly kind: 'check'
  readonly path: string
  readonly content: string
  readonly mode: number
  readonly argv: readonly string[]
  readonly outside?: Outside
  readonly ports?: readonly PortClaim[]
  /** Files of ours that the checked one names; written before the check. Undo: the previous ones. */
  readonly beside?: readonly FileContent[]
}
export interface FileContent {
  readonly path: string
  readonly content: string
}
/** Makes `path` hold `content` (by renaming a checked candidate when `checked`). Undo: the previous file. */
export interface ReplaceFileStep extends StepBase, NamingInterfaces {
  readonly kind: 'replaceFile'
  readonly path: string
  readonly content: string
  readonly mode: number
  readonly checked: boolean
  /** A foreign file at this path is stored, for a RemoveFileStep to give back. */
  readonly keepsFound?: true
  /** A foreign file is copied to this path once, for people: no step gives it back. */
  readonly foundCopy?: string | undefined
}
/** Sets the contents of small files of ours that programs watch. Undo: the previous contents. */
export interface ValuesStep extends StepBase {
  readonly kind: 'values'
  readonly folder: string
  /** File names and contents. */
  readonly values: readonly (readonly [name: string, content: string])[]
  /** The same, but only for files that already exist. */
  readonly ifThere: readonly (readonly [name: string, content: string])[]
  /** Whether other files of the folder are removed. */
  readonly keepsOnly: boolean
}
/** Removes all other files of a folder of ours. Undo: the previous ones. */
export interface KeepOnlyStep extends StepBase {
  readonly kind: 'keepOnly'
  readonly folder: string
  readonly names: readonly string[]
}
/** Removes a file. Undo: the previous one. */
export interface RemoveFileStep extends StepBase {
  readonly kind: 'removeFile'
  readonly path: string
  /** Restores the file that was found there before; a foreign file stays. */
  readonly givesBack?: true
  /** Mode of a restored file; 0o644 by default. */
  readonly foundMode?: number
}
export interface RunStep extends StepBase {
  readonly kind: 'run'
  readonly argv: readonly string[]
  readonly undo: readonly string[] | 'irreversible'
  readonly outside?: Outside
  readonly expect?: Expectation
  /** If it fails, the engine makes the change by a reload instead. */
  readonly isRuntime?: true
  /** The wanted state may already exist, so a failure of the program does not fail the plan. */
  readonly mayFail?: true
}
/** The expected output. */
export type Expectation =
  /** The lines that begin with `prefix` are exactly these, in any order and number. */
  | { readonly prefix: string; readonly lines: readonly string[] }
  /**
   * Becomes true within the step's timeout: each of `begins` has a line, and every line with a `beginning` of `ends`
   * has its `end` (undefined: there is no such line).
   */
  | {
      readonly begins: readonly string[]
      readonly ends: readonly { readonly beginning: string; readonly end: string | undefined }[]
    }
  /** The output contains this text within the step's timeout: the program runs again until it does. */
  | { readonly comes: string; readonly otherwise: string }
/**
 * Starts, stops, reloads or restarts a managed program. Undo: the verb in `undo`, run after files are restored;
 * `asFound` restarts a program that ran before, and stops one that did not.
 */
export interface UnitStep extends StepBase {
  readonly kind: 'unit'
  readonly unit: UnitName
  readonly verb: UnitVerb
  readonly undo: UnitVerb | 'asFound' | 'none'
  /**
   * `skip` leaves the unit alone if this plan changed no file and the unit runs, or if the verb is `stop`: so a
   * restarted daemon adopts a running program.
   */
  readonly whenUnchanged: 'act' | 'skip'
  /** A file that exists while the program has not read the files on disk, so that a kill in between is noticed. */
  readonly unread?: string
  /** The counters of a process end with it, so they are read first. */
  readonly endsCounting?: true
}
export interface SocketCommand {
  readonly request: string
  /** Sent with the request and never shown, because it may be a key. */
  readonly payload?: string
  /** Accepted answers; one that ends in `*` is a prefix of accepted answers, one that begins with it a suffix. */
  readonly expect: readonly string[]
  /** The command destroys counters: they are read first, once for all such commands, when `quiet` holds. */
  readonly endsCounting?: true
}
/** The expected values of a table row, or its absence. */
export interface RowExpectation {
  readonly where: Readonly<Record<string, string>>
  /** Accepted values by column, with `*` as in a command; undefined when no such row may exist. */
  readonly columns: Readonly<Record<string, readonly string[]>> | undefined
}
/** A query after the commands, so that a silent no-op does not pass for success. */
export interface ReadBack {
  readonly request: string
  /** For a table whose header line starts with `# `. */
  readonly rows?: readonly RowExpectation[]
  /** Lines that the answer must contain. */
  readonly lines?: readonly string[]
}
/** Commands for a control socket, in order, then a read-back. Undo: `undo`, or a reload by the engine. */
export interface SocketStep extends StepBase {
  readonly kind: 'socket'
  readonly path: string
  readonly commands: readonly SocketCommand[]
  readonly readBack: readonly ReadBack[]
  /** Becomes true before counters are destroyed: nothing is added to them any more. */
  readonly quiet?: readonly ReadBack[]
  readonly undo: readonly SocketCommand[]
}
/** Sets one setting, unless it already has the value. Undo: the previous value. */
export interface SettingStep extends StepBase {
  readonly kind: 'setting'
  readonly setting: Setting
  /** undefined: the value from before this daemon first changed it. */
  readonly value: string | undefined
  /** A machine without this setting is left alone instead of failing the plan. */
  readonly isOptional: boolean
}
/**
 * Addresses, routes and rules, compared with the kernel's. A plan has two such steps: `add` before programs that
 * listen, `settle` at the end. Undo: the previous state.
 */
export interface NetworkStep extends StepBase {
  readonly kind: 'network'
  readonly desired: DesiredNetwork
  readonly phase: NetworkPhase
  /** A partial success is kept: the previous state is of no use. */
  readonly keepsPart?: true
}
/** Changes an account. Irreversible: the previous password is not known. */
export interface AccountStep extends StepBase {
  readonly kind: 'account'
  readonly change: AccountChange
}
export type Step =
  | CheckStep
  | ReplaceFileStep
  | RemoveFileStep
  | ValuesStep
  | KeepOnlyStep
  | RunStep
  | UnitStep
  | SocketStep
  | SettingStep
  | NetworkStep
  | AccountStep

/** The outcome of a plan. A failed plan was undone in reverse unless `undone` is false. */
export type PlanResult =
  | {
      readonly ok: true
      readonly done: number
      /** Number of steps that were only recorded, because the profile must not touch the machine. */
      readonly recorded: number
      readonly warnings: readonly string[]
    }
  | {
      readonly ok: false
      readonly failedStep: number
      /** Kind of the step, or of its part that failed: a candidate that could not be written is no refused check. */
      readonly kind: Step['kind']
      readonly why: string
      readonly output: string
      /** Whether the program that the step needs is missing on this machine. */
      readonly missing: boolean
      readonly undone: boolean
    }

/** The cost of a change, cheapest first. `network` changes addresses or routes. */
export const EFFECTS = ['runtime', 'reload', 'restart', 'network'] as const
export type ChangeEffect = (typeof EFFECTS)[number]

export interface PlanOptions {
  /** Never plan anything cheaper than this: `reload` after a refused runtime command, `restart` on ?force=restart. */
  readonly atLeast: 'runtime' | 'reload' | 'restart'
  /** Whether the plan restores what was applied before: nothing outside this machine may prevent that. */
  readonly isReturn?: true
}

/**
 * A managed program, described purely: no files, no processes, no clock.
 * `plan` from undefined means "the machine's state is unknown; make it `desired`": used at start and for recovery.
 */
export interface Driver {
  /** The service of /services, or another subject: network, conntrack, timezone, proxy. */
  readonly name: string
  readonly sections: readonly SectionName[]
  /** The plan from an unknown state removes whatever another configuration has left, so recovery need not name it. */
  readonly makesAnew?: true
  /**
   * Computes, portion by portion, intermediate results that make the other methods fast for this configuration. They do
   * not depend on it otherwise.
   */
  prepare(view: ConfigView): Iterable<unknown>
  /** Returns the problems that can be found without the program. Touches nothing. */
  verify(desired: ConfigView): readonly Problem[]
  /** Returns [] when nothing needs to be done. */
  plan(running: ConfigView | undefined, desired: ConfigView, options: PlanOptions): readonly Step[]
  /** Returns the cost of one change, or undefined when it does not concern this driver. */
  effectOf(change: RecordChange, running: ConfigView, desired: ConfigView): ChangeEffect | undefined
  /** Returns the files that this driver would write, for previews. */
  render(desired: ConfigView): readonly { readonly path: string; readonly content: string }[]
  /** Maps the checker's output to the records to blame. Never empty: unknown output becomes one problem. */
  diagnose(output: string, desired: ConfigView): readonly Problem[]
}
