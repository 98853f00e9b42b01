import { basename, dirname } from 'node:path'
import {
  type AccountChange,
  type DesiredNetwork,
  type Host,
  type KeptValues,
  type Listener,
  type NetworkOutcome,
  type NetworkPhase,
  type RunResult,
  type Setting,
  settingKey,
  type UnitName,
  type UnitState,
  type UnitVerb,
} from '../../src/drivers/host.ts'
import { KeyValueMemory } from './key-value-file.ts'

/** An action that a real host would have carried out. */
export type JournalEntry =
  | { readonly verb: 'run'; readonly argv: readonly string[] }
  | { readonly verb: 'replaceFile'; readonly path: string; readonly content: string; readonly mode: number }
  | { readonly verb: 'renameFile'; readonly from: string; readonly to: string }
  | { readonly verb: 'removeFile'; readonly path: string }
  | { readonly verb: 'unit'; readonly name: UnitName; readonly unitVerb: UnitVerb }
  | { readonly verb: 'socket'; readonly path: string; readonly request: string }
  | { readonly verb: 'setting'; readonly key: string; readonly value: string }
  | { readonly verb: 'network'; readonly desired: DesiredNetwork; readonly phase: NetworkPhase }
  /** Without the password. */
  | { readonly verb: 'account'; readonly account: string; readonly shell: boolean | undefined }

/** Mode of a file without a recorded one. */
const FOUND_MODE = 0o644
const DONE: RunResult = { exitCode: 0, output: '' }

export interface RecordingHostOptions {
  /** Host that is read for files and units without a record. */
  readonly base?: Pick<Host, 'readFile' | 'unitState'> & Partial<Pick<Host, 'readSetting' | 'hasShell'>>
  /** Store for settings and accounts; without it they are kept in memory. */
  readonly memory?: KeptValues
  readonly interfaceNames?: ReadonlyMap<string, string>
  readonly answerRun?: (argv: readonly string[]) => RunResult
  readonly answerSocket?: (path: string, request: string) => string
}

/**
 * A host that does nothing and records everything: for dry runs, tests, and the actions that the trial profile must not
 * carry out.
 */
export class RecordingHost implements Host {
  readonly journal: JournalEntry[] = []
  readonly #files = new Map<string, string | undefined>()
  readonly #modes = new Map<string, number>()
  readonly #units = new Map<UnitName, UnitState>()
  readonly #options: RecordingHostOptions
  readonly #memory: KeptValues
  readonly found: KeptValues = new KeyValueMemory()
  #recorded = 0

  constructor(options: RecordingHostOptions = {}) {
    this.#options = options
    this.#memory = options.memory ?? new KeyValueMemory()
  }

  get recorded(): number {
    return this.#recorded
  }

  #record(entry: JournalEntry): void {
    this.#recorded += 1
    this.journal.push(entry)
  }

  /** Removes and returns the recorded entries, so that a worker can pass them on. */
  takeJournal(): readonly JournalEntry[] {
    return this.journal.splice(0)
  }

  /** No program counts as missing: a trial needs none of them. */
  async missingProgram(): Promise<undefined> {
    return undefined
  }
  async run(argv: readonly string[]): Promise<RunResult> {
    this.#record({ verb: 'run', argv })
    return this.#options.answerRun?.(argv) ?? DONE
  }
  async readFile(path: string): Promise<string | undefined> {
    return this.#files.has(path) ? this.#files.get(path) : this.#options.base?.readFile(path)
  }
  async replaceFile(path: string, content: string, mode: number): Promise<void> {
    this.#record({ verb: 'replaceFile', path, content, mode })
    this.#files.set(path, content)
    this.#modes.set(path, mode)
  }
  async renameFile(from: string, to: string): Promise<void> {
    const content = await this.readFile(from)
    if (content === undefined) throw new Error(`ENOENT: no such file, rename '${from}' -> '${to}'`)
    this.#record({ verb: 'renameFile', from, to })
    this.#files.set(to, content)
    this.#files.set(from, undefined)
    this.#modes.set(to, this.#modes.get(from) ?? FOUND_MODE)
  }
  async removeFile(path: string): Promise<void> {
    this.#record({ verb: 'removeFile', path })
    this.#files.set(path, undefined)
  }
  async copyFile(from: string, to: string, mode: number): Promise<void> {
    await this.replaceFile(to, (await this.readFile(from)) ?? '', mode)
  }
  async keepFile(path: string): Promise<() => Promise<void>> {
    const [content, mode] = [await this.readFile(path), this.#modes.get(path) ?? FOUND_MODE]
    return () => (content === undefined ? this.removeFile(path) : this.replaceFile(path, content, mode))
  }
  async listFiles(folder: string): Promise<readonly string[]> {
    const paths = [...this.#files].flatMap(([path, content]) => (content === undefined ? [] : [path]))
    return paths.filter((path) => dirname(path) === folder).map((path) => basename(path))
  }
  async portProblem(_ip: string, _port: number): Promise<string | undefined> {
    return undefined
  }
  async listeners(): Promise<readonly Listener[]> {
    return []
  }
  async unit(name: UnitName, verb: UnitVerb): Promise<RunResult> {
    this.#record({ verb: 'unit', name, unitVerb: verb })
    this.#units.set(name, verb === 'stop' ? 'stopped' : 'running')
    return DONE
  }
  async unitState(name: UnitName): Promise<UnitState> {
    return this.#units.get(name) ?? (await this.#options.base?.unitState(name)) ?? 'stopped'
  }
  async socket(path: string, request: string): Promise<string> {
    this.#record({ verb: 'socket', path, request })
    return this.#options.answerSocket?.(path, request) ?? ''
  }
  async readSetting(setting: Setting): Promise<string | undefined> {
    const known = await this.#memory.get(settingKey(setting))
    if (known !== undefined) return known
    // A setting that this machine lacks can still be tried, because a trial does not need it.
    return (await this.#options.base?.readSetting?.(setting)) ?? ''
  }
  async writeSetting(setting: Setting, value: string): Promise<RunResult> {
    const key = settingKey(setting)
    this.#record({ verb: 'setting', key, value })
    await this.#memory.set(key, value)
    return DONE
  }
  async interfaceNames(): Promise<ReadonlyMap<string, string>> {
    return this.#options.interfaceNames ?? new Map()
  }
  async network(desired: DesiredNetwork, phase: NetworkPhase): Promise<NetworkOutcome> {
    const warnings = phase === 'settle' ? (desired.leftOut ?? []) : []
    const isNothing = desired.addresses.length + desired.routes.length + desired.rules.length === 0
    // As on a real machine: a network that the daemon never managed is not even read.
    if (isNothing && (await this.#memory.get('network')) === undefined) {
      return { ...DONE, undo: undefined, warnings }
    }
    this.#record({ verb: 'network', desired, phase })
    if (phase === 'settle') await this.#memory.set('network', isNothing ? undefined : 'made')
    return { ...DONE, undo: undefined, warnings }
  }
  async account({ account, shell }: AccountChange): Promise<RunResult> {
    this.#record({ verb: 'account', account, shell })
    if (shell !== undefined) await this.#memory.set(`shell ${account}`, String(shell))
    return DONE
  }
  async hasShell(account: AccountChange['account']): Promise<boolean | undefined> {
    const known = await this.#memory.get(`shell ${account}`)
    return known === undefined ? this.#options.base?.hasShell?.(account) : known === 'true'
  }
}
