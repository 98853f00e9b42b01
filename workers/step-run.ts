import type { Step, UnitStep } from '../src/drivers/driver.ts'
import type { Host, UnitName } from '../src/drivers/host.ts'

const UNREAD_MODE = 0o600

/** Why a step failed. */
export interface Failure {
  readonly output: string
  readonly missing: boolean
  /** The action that failed, if it was not the step's own: a full disk is no verdict of a checker. */
  readonly instead?: { readonly kind: Step['kind']; readonly why: string }
}

/** The undo of a step. Units are undone last, when the files are restored. */
export interface Undo {
  readonly order: 'file' | 'unit'
  /** Returns the problem if the undo failed. */
  readonly run: () => Promise<string | undefined>
}

/** One run of one plan. */
export interface Run {
  readonly host: Host
  readonly undos: Undo[]
  readonly warnings: string[]
  filesChanged: boolean
  /** Whether each unit ran before a setting of this plan started or stopped it. */
  readonly ran: Map<UnitName, boolean>
  /** See `UnitStep`. */
  readonly unread: string | undefined
  /** Candidates that were not written, each with the identical file in place, which later steps read instead. */
  readonly inPlace: Map<string, string>
  /** Reads all figures counted so far, before they are lost. */
  readonly capture: () => Promise<void>
  /** The capture that was started while the file of a reload was checked; undefined if there was none. */
  captured: Promise<void> | undefined
  /** Whether a reload that ends counting follows the checks: see `captureBeside`. */
  readonly isReload: boolean
}

export const startRun = (
  host: Host,
  capture: Run['capture'] = async () => undefined,
  steps: readonly Step[] = [],
): Run => ({
  host,
  undos: [],
  warnings: [],
  filesChanged: false,
  ran: new Map(),
  unread: steps.find((step) => step.kind === 'unit')?.unread,
  inPlace: new Map(),
  capture,
  captured: undefined,
  isReload: steps.some((step) => step.kind === 'unit' && step.verb === 'reload' && step.endsCounting === true),
})

/**
 * Before a reload the figures are read while its file is checked: with very many servers both take HAProxy long. The
 * old worker reports what it counts after that itself, before it ends.
 */
export function captureBeside(run: Run): void {
  if (run.isReload) run.captured ??= run.capture()
}

/** Captures before a verb that ends counting. A capture taken beside the check is enough for a reload only. */
export const captureBefore = (run: Run, verb: UnitStep['verb']): Promise<void> =>
  (verb === 'reload' ? run.captured : undefined) ?? run.capture()

/** Called before changing a file that a program of this plan reads. */
export async function aboutToChange(run: Run): Promise<void> {
  const { host, unread, filesChanged } = run
  run.filesChanged = true
  if (filesChanged || unread === undefined) return
  await host.replaceFile(unread, '', UNREAD_MODE)
  // Undone last, when the program has read the old content again.
  run.undos.push({ order: 'unit', run: () => host.removeFile(unread).then(() => undefined) })
}

interface Outcome {
  readonly exitCode: number
  readonly output: string
}

export function failureOf({ exitCode, output }: Outcome): Failure | undefined {
  return exitCode === 0 ? undefined : { output, missing: exitCode === 127 }
}

export function problemOf({ exitCode, output }: Outcome): string | undefined {
  return exitCode === 0 ? undefined : output
}

/** Replaces candidates that were not written by the file in place. */
export const wordsOf = ({ inPlace }: Pick<Run, 'inPlace'>, argv: readonly string[]): readonly string[] =>
  argv.map((word) => inPlace.get(word) ?? word)

/**
 * Called after a value was given back: its owner may change it next, and a later give-back must not restore this one.
 */
export async function forgetFound({ host, undos }: Run, key: string): Promise<void> {
  const found = await host.found.get(key)
  if (found === undefined) return
  undos.push({
    order: 'file',
    run: async () => {
      await host.found.set(key, found)
      return undefined
    },
  })
  await host.found.set(key, undefined)
}
