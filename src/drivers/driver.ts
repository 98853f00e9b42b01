import type { AccountChange, DesiredNetwork, NetworkPhase, Outside, Setting, UnitName, UnitVerb } from './host.ts'
import type { Problem } from '../model/problem.ts'
import type { ConfigView, RecordChange, SectionName } from '../model/sections.ts'

interface StepBase {
  /** What this step is for, shown in plan previews and in failures. */
  readonly why: string
  readonly timeout_ms: number
  /** After everything else of the plan, also after what the network loses. */
  readonly isLast?: true
}

/** A file of which this is part of the content. */
interface NamingInterfaces {
  /** It has places for the names that interfaces have on this machine: see `interfacePlace`. */
  readonly namesInterfaces?: true
}

/** A port that a program is about to listen on. */
export interface PortClaim {
  readonly ip: string
  readonly port: number
  /** The record that claims it, in the words of the program, so that `diagnose` finds the record: "frontend abc". */
  readonly claimant: string
  /** Whether the program may have it already, by a configuration that is not of our making. */
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
  /** Files of ours that the checked one names; written before it is judged. Undo: the previous ones. */
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
  /** What somebody else wrote there is kept, for a RemoveFileStep to give back. */
  readonly keepsFound?: true
  /** What somebody else wrote there is copied to this path, once, for people: no step gives it back. */
  readonly foundCopy?: string | undefined
}
/** Makes small files of ours, which programs watch, hold these values. Undo: the previous ones. */
export interface ValuesStep extends StepBase {
  readonly kind: 'values'
  readonly folder: string
  /** Names and contents. */
  readonly values: readonly (readonly [name: string, content: string])[]
  /** The same for files that somebody else may have made. */
  readonly ifThere: readonly (readonly [name: string, content: string])[]
  /** Other files of the folder are removed. */
  readonly keepsOnly: boolean
}
/** Removes the files of a folder of ours but these. Undo: the previous ones. */
export interface KeepOnlyStep extends StepBase {
  readonly kind: 'keepOnly'
  readonly folder: string
  readonly names: readonly string[]
}
/** Undo: the previous file. */
export interface RemoveFileStep extends StepBase {
  readonly kind: 'removeFile'
  readonly path: string
  /** Instead of nothing, what was found there before; a file that is not this daemon's stays. */
  readonly givesBack?: true
  /** Mode of a restored file; 0o644 unless told. */
  readonly foundMode?: number
}
export interface RunStep extends StepBase {
  readonly kind: 'run'
  readonly argv: readonly string[]
  readonly undo: readonly string[] | 'irreversible'
  readonly outside?: Outside
  readonly expect?: Expectation
  /** When it fails, the engine makes the change again, by a reload. */
  readonly isRuntime?: true
  /** For what may be as wanted already: a failure of the program is none of the plan. */
  readonly mayFail?: true
}
/** What the output must hold. */
export type Expectation =
  /** Lines that begin with `prefix` are these and no others, in any order and any number. */
  | { readonly prefix: string; readonly lines: readonly string[] }
  /**
   * This comes about within the time of the step: there is a line with each of `begins`, and no line with the beginning
   * of one of `ends` and without its end.
   */
  | {
      readonly begins: readonly string[]
      readonly ends: readonly { readonly beginning: string; readonly end: string | undefined }[]
    }
  /** This text comes about within the time of the step: the program runs again until it does. */
  | { readonly comes: string; readonly otherwise: string }
/**
 * Starts, stops, reloads or restarts a managed program. Undo: the verb in `undo`, run after files are restored;
 * `asFound` is a restart of what ran before, and a stop of what did not.
 */
export interface UnitStep extends StepBase {
  readonly kind: 'unit'
  readonly unit: UnitName
  readonly verb: UnitVerb
  readonly undo: UnitVerb | 'asFound' | 'none'
  /**
   * `skip` leaves the unit alone when no file of this plan changed, and it runs, or is to stop: a restarted daemon
   * adopts it so.
   */
  readonly whenUnchanged: 'act' | 'skip'
  /** A file that is there while the program has not read what is on the disk: no kill in between is skipped over. */
  readonly unread?: string
  /** A process ends with its counters: what was counted is read before it. */
  readonly endsCounting?: true
}
export interface SocketCommand {
  readonly request: string
  /** Sent with it, and shown nowhere: it may be a key. */
  readonly payload?: string
  /** Accepted answers; one that ends in `*` is the beginning of accepted answers, one that begins with it the end. */
  readonly expect: readonly string[]
  /** It takes counters away: what was counted is read before it, once for all such commands, when `quiet` holds. */
  readonly endsCounting?: true
}
/** What one row of a table must hold, or that it must not be there. */
export interface RowExpectation {
  readonly where: Readonly<Record<string, string>>
  /** Accepted values by column, with `*` as those of a command; undefined when no such row may exist. */
  readonly columns: Readonly<Record<string, readonly string[]>> | undefined
}
/** Read after the commands: a silent no-op must not pass for success. */
export interface ReadBack {
  readonly request: string
  /** For a table whose header line starts with `# `. */
  readonly rows?: readonly RowExpectation[]
  /** Lines that the answer has to hold. */
  readonly lines?: readonly string[]
}
/** Commands for a control socket, in order, then a read-back. Undo: `undo`, or a reload by the engine. */
export interface SocketStep extends StepBase {
  readonly kind: 'socket'
  readonly path: string
  readonly commands: readonly SocketCommand[]
  readonly readBack: readonly ReadBack[]
  /** What has to be so before counters are taken away, or soon: nothing is added to them any more. */
  readonly quiet?: readonly ReadBack[]
  readonly undo: readonly SocketCommand[]
}
/** Gives one setting a value, unless it has it. Undo: the previous value. */
export interface SettingStep extends StepBase {
  readonly kind: 'setting'
  readonly setting: Setting
  /** undefined: as it was before this daemon first changed it. */
  readonly value: string | undefined
  /** A machine without this setting is left alone instead of failing the plan. */
  readonly isOptional: boolean
}
/**
 * Addresses, routes and rules, compared with what the kernel has. Two of them stand in a plan: `add` before programs
 * that listen, `settle` after everything. Undo: what was there before.
 */
export interface NetworkStep extends StepBase {
  readonly kind: 'network'
  readonly desired: DesiredNetwork
  readonly phase: NetworkPhase
  /** What could be made stays when something else could not: what was there before is wanted by nobody. */
  readonly keepsPart?: true
}
/** Irreversible: nobody knows the password that was there. */
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

/** What came of a plan. A failed plan was undone in reverse unless `undone` is false. */
export type PlanResult =
  | {
      readonly ok: true
      readonly done: number
      /** Steps that were only recorded, because the profile keeps hands off the machine. */
      readonly recorded: number
      readonly warnings: readonly string[]
    }
  | {
      readonly ok: false
      readonly failedStep: number
      /**
       * Kind of the step, or of the part of it that failed: a candidate that could not be written is no refused check.
       */
      readonly kind: Step['kind']
      readonly why: string
      readonly output: string
      /** The program that the step needs is not on this machine. */
      readonly missing: boolean
      readonly undone: boolean
    }

/** What a change costs, cheapest first. `network` changes addresses or routes. */
export const EFFECTS = ['runtime', 'reload', 'restart', 'network'] as const
export type ChangeEffect = (typeof EFFECTS)[number]

export interface PlanOptions {
  /** Never plan anything cheaper than this: `reload` after a refused runtime command, `restart` on ?force=restart. */
  readonly atLeast: 'runtime' | 'reload' | 'restart'
  /** The way back to what was applied before: nothing outside this machine may stand in its way. */
  readonly isReturn?: true
}

/**
 * A managed program, described purely: no files, no processes, no clock.
 * `plan` from undefined means "the machine's state is unknown; make it `desired`": used at start and for recovery.
 */
export interface Driver {
  /** The service of /services, or what else is changed: network, conntrack, timezone, proxy. */
  readonly name: string
  readonly sections: readonly SectionName[]
  /**
   * Its plan from an unknown state takes back whatever another configuration has left: recovery need not tell it which.
   */
  readonly makesAnew?: true
  /**
   * Works out, portion by portion, what the other methods need of this configuration, so that they take little time
   * afterwards. Nothing but time depends on it.
   */
  prepare(view: ConfigView): Iterable<unknown>
  /** Problems that can be seen without the program. Touches nothing. */
  verify(desired: ConfigView): readonly Problem[]
  /** [] when nothing is to be done. */
  plan(running: ConfigView | undefined, desired: ConfigView, options: PlanOptions): readonly Step[]
  /** What one change would cost, or undefined when this driver does not care. */
  effectOf(change: RecordChange, running: ConfigView, desired: ConfigView): ChangeEffect | undefined
  /** The files this driver would write, for previews. */
  render(desired: ConfigView): readonly { readonly path: string; readonly content: string }[]
  /** Maps the checker's output to the records to blame. Never empty: unknown output becomes one problem. */
  diagnose(output: string, desired: ConfigView): readonly Problem[]
}
