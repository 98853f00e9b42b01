import type { Host, RunResult, UnitName, UnitState, UnitVerb } from '../../src/drivers/host.ts'

/** One thing that would have been done. */
export type JournalEntry =
  | { readonly verb: 'run'; readonly argv: readonly string[] }
  | { readonly verb: 'replaceFile'; readonly path: string; readonly content: string; readonly mode: number }
  | { readonly verb: 'renameFile'; readonly from: string; readonly to: string }
  | { readonly verb: 'removeFile'; readonly path: string }
  | { readonly verb: 'unit'; readonly name: UnitName; readonly unitVerb: UnitVerb }
  | { readonly verb: 'socket'; readonly path: string; readonly request: string }

export interface RecordingHostOptions {
  /** Read for files and units that nothing was recorded about. */
  readonly base?: Pick<Host, 'readFile' | 'unitState'>
  readonly answerRun?: (argv: readonly string[]) => RunResult
  readonly answerSocket?: (path: string, request: string) => string
}

/** Does nothing, remembers everything: dry runs, tests, and what the trial profile must not do to the machine. */
export class RecordingHost implements Host {
  readonly journal: JournalEntry[] = []
  readonly #files = new Map<string, string | undefined>()
  readonly #units = new Map<UnitName, UnitState>()
  readonly #options: RecordingHostOptions

  constructor(options: RecordingHostOptions = {}) {
    this.#options = options
  }

  /** Takes the recorded entries, so that a worker can hand them over. */
  takeJournal(): readonly JournalEntry[] {
    return this.journal.splice(0)
  }

  async run(argv: readonly string[]): Promise<RunResult> {
    this.journal.push({ verb: 'run', argv })
    return this.#options.answerRun?.(argv) ?? { exitCode: 0, output: '' }
  }
  async readFile(path: string): Promise<string | undefined> {
    return this.#files.has(path) ? this.#files.get(path) : this.#options.base?.readFile(path)
  }
  async replaceFile(path: string, content: string, mode: number): Promise<void> {
    this.journal.push({ verb: 'replaceFile', path, content, mode })
    this.#files.set(path, content)
  }
  async renameFile(from: string, to: string): Promise<void> {
    const content = await this.readFile(from)
    if (content === undefined) throw new Error(`ENOENT: no such file, rename '${from}' -> '${to}'`)
    this.journal.push({ verb: 'renameFile', from, to })
    this.#files.set(to, content)
    this.#files.set(from, undefined)
  }
  async removeFile(path: string): Promise<void> {
    this.journal.push({ verb: 'removeFile', path })
    this.#files.set(path, undefined)
  }
  async portProblem(_ip: string, _port: number): Promise<string | undefined> {
    return undefined
  }
  async unit(name: UnitName, verb: UnitVerb): Promise<RunResult> {
    this.journal.push({ verb: 'unit', name, unitVerb: verb })
    this.#units.set(name, verb === 'stop' ? 'stopped' : 'running')
    return { exitCode: 0, output: '' }
  }
  async unitState(name: UnitName): Promise<UnitState> {
    return this.#units.get(name) ?? (await this.#options.base?.unitState(name)) ?? 'stopped'
  }
  async socket(path: string, request: string): Promise<string> {
    this.journal.push({ verb: 'socket', path, request })
    return this.#options.answerSocket?.(path, request) ?? ''
  }
}
