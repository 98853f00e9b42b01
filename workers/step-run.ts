import type { Step, UnitStep } from '../src/drivers/driver.ts'
import type { Host, UnitName } from '../src/drivers/host.ts'

const UNREAD_MODE = 0o600

/** Why a step failed. */
export interface Failure {
  readonly output: string
  readonly missing: boolean
  /** What failed, when it was not what the step is about: a full disk is no verdict of a checker. */
  readonly instead?: { readonly kind: Step['kind']; readonly why: string }
}

/** What a step did, and how to take it back. Units are taken back last, when the files are as they were. */
export interface Undo {
  readonly order: 'file' | 'unit'
  /** The problem, when it could not be taken back. */
  readonly run: () => Promise<string | undefined>
}

/** One run of one plan. */
export interface Run {
  readonly host: Host
  readonly undos: Undo[]
  readonly warnings: string[]
  filesChanged: boolean
  /** Whether units ran before a setting of this plan has started or stopped them. */
  readonly ran: Map<UnitName, boolean>
  /** See `UnitStep`. */
  readonly unread: string | undefined
  /** Candidates that were not written, each with the file in place, which is the same: later steps read that one. */
  readonly inPlace: Map<string, string>
  /** Reads what was counted until now, before it is taken away. */
  readonly capture: () => Promise<void>
  /** The same, begun while the file of a reload is checked; undefined where nothing was begun. */
  captured: Promise<void> | undefined
  /** What follows the checks is a reload that ends counting: see `captureBeside`. */
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
 * Before a reload the figures are read while its file is checked: with very many servers both take HAProxy long. What
 * the old worker counts from then on it tells itself, before it ends.
 */
export function captureBeside(run: Run): void {
  if (run.isReload) run.captured ??= run.capture()
}

/** Before a verb that ends counting: what was read beside the check does for a reload only. */
export const captureBefore = (run: Run, verb: UnitStep['verb']): Promise<void> =>
  (verb === 'reload' ? run.captured : undefined) ?? run.capture()

/** Before a file is changed that a program of this plan reads. */
export async function aboutToChange(run: Run): Promise<void> {
  const { host, unread, filesChanged } = run
  run.filesChanged = true
  if (filesChanged || unread === undefined) return
  await host.replaceFile(unread, '', UNREAD_MODE)
  // The last to be undone: then the program has read what was there before.
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

/** The words of a command, with the file in place where no candidate was written. */
export const wordsOf = ({ inPlace }: Pick<Run, 'inPlace'>, argv: readonly string[]): readonly string[] =>
  argv.map((word) => inPlace.get(word) ?? word)

/** After it was given back: its owner may change it next, and a later give-back must not bring this value back. */
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
