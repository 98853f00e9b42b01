import { resolve } from 'node:path'
import type {
  AccountChange,
  DesiredNetwork,
  Host,
  KeptOutput,
  KeptValues,
  Listener,
  NetworkOutcome,
  NetworkPhase,
  Outside,
  RunResult,
  Setting,
  UnitName,
  UnitState,
  UnitVerb,
} from '../../src/drivers/host.ts'

/**
 * The host of the trial profile: steps inside the state folder are carried out, all others are only recorded. HAProxy
 * and its checker are real, because they run under the state folder.
 */
export class TrialHost implements Host {
  readonly #real: Host
  readonly #recorder: Host
  readonly #folder: string
  readonly #programs: ReadonlySet<string>

  /** `programs` are those whose only effect is output, or files in the state folder. */
  constructor(real: Host, recorder: Host, stateFolder: string, programs: readonly string[]) {
    this.#real = real
    this.#recorder = recorder
    this.#folder = `${resolve(stateFolder)}/`
    this.#programs = new Set(programs)
  }

  /** The sandbox of health checks has its own folder and is really run. */
  #forProgram(program: string): Host {
    const isReal = this.#programs.has(program) || resolve(program).startsWith(this.#folder)
    return isReal ? this.#real : this.#recorder
  }

  #forPath(path: string): Host {
    return resolve(path).startsWith(this.#folder) ? this.#real : this.#recorder
  }

  /** HAProxy and etcd run under the state folder; the other programs belong to the machine. */
  #forUnit(name: UnitName): Host {
    return name === 'layer7proxy' || name === 'etcd' ? this.#real : this.#recorder
  }

  get recorded(): number {
    return this.#recorder.recorded
  }
  get found(): KeptValues {
    return this.#recorder.found
  }

  run(argv: readonly string[], timeout_ms: number, outside?: Outside, kept?: KeptOutput): Promise<RunResult> {
    return this.#forProgram(argv[0] ?? '').run(argv, timeout_ms, outside, kept)
  }
  missingProgram(name: string): Promise<RunResult | undefined> {
    return this.#forProgram(name).missingProgram(name)
  }
  readFile(path: string): Promise<string | undefined> {
    return this.#forPath(path).readFile(path)
  }
  replaceFile(path: string, content: string, mode: number): Promise<void> {
    return this.#forPath(path).replaceFile(path, content, mode)
  }
  renameFile(from: string, to: string): Promise<void> {
    return this.#forPath(to).renameFile(from, to)
  }
  removeFile(path: string): Promise<void> {
    return this.#forPath(path).removeFile(path)
  }
  copyFile(from: string, to: string, mode: number): Promise<void> {
    return this.#forPath(to).copyFile(from, to, mode)
  }
  keepFile(path: string): Promise<() => Promise<void>> {
    return this.#forPath(path).keepFile(path)
  }
  listFiles(folder: string): Promise<readonly string[]> {
    return this.#forPath(folder).listFiles(folder)
  }
  portProblem(ip: string, port: number): Promise<string | undefined> {
    return this.#real.portProblem(ip, port)
  }
  listeners(): Promise<readonly Listener[]> {
    return this.#real.listeners()
  }
  unit(name: UnitName, verb: UnitVerb, timeout_ms: number): Promise<RunResult> {
    return this.#forUnit(name).unit(name, verb, timeout_ms)
  }
  unitState(name: UnitName): Promise<UnitState> {
    return this.#forUnit(name).unitState(name)
  }
  socket(path: string, request: string, timeout_ms: number, payload?: string): Promise<string> {
    return this.#forPath(path).socket(path, request, timeout_ms, payload)
  }
  readSetting(setting: Setting): Promise<string | undefined> {
    return this.#recorder.readSetting(setting)
  }
  writeSetting(setting: Setting, value: string, timeout_ms: number): Promise<RunResult> {
    return this.#recorder.writeSetting(setting, value, timeout_ms)
  }
  interfaceNames(): Promise<ReadonlyMap<string, string>> {
    return this.#real.interfaceNames()
  }
  network(desired: DesiredNetwork, phase: NetworkPhase, timeout_ms: number): Promise<NetworkOutcome> {
    return this.#recorder.network(desired, phase, timeout_ms)
  }
  account(change: AccountChange, timeout_ms: number): Promise<RunResult> {
    return this.#recorder.account(change, timeout_ms)
  }
  hasShell(account: AccountChange['account']): Promise<boolean | undefined> {
    return this.#recorder.hasShell(account)
  }
}
