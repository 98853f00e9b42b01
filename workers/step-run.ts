import type { Step } from '../src/drivers/driver.ts'
import type { Host } from '../src/drivers/host.ts'

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
  /** Candidates that were not written, each with the file in place, which is the same: later steps read that one. */
  readonly inPlace: Map<string, string>
  /** Reads what was counted until now, before it is taken away. */
  readonly capture: () => Promise<void>
}

export const startRun = (host: Host, capture: Run['capture'] = async () => undefined): Run => ({
  host,
  undos: [],
  warnings: [],
  filesChanged: false,
  inPlace: new Map(),
  capture,
})

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

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** After it was given back: who changes it next is its owner, and a later give-back must not bring this value back. */
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
