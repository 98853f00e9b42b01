import { resolve } from 'node:path'
import type { Host, RunResult, UnitName, UnitState, UnitVerb } from '../../src/drivers/host.ts'

/**
 * The trial profile: what stays inside the state folder is done, everything else is only recorded. HAProxy and its
 * checker are real, because they run under the state folder.
 */
export class TrialHost implements Host {
  readonly #real: Host
  readonly #recorder: Host
  readonly #folder: string
  readonly #programs: ReadonlySet<string>

  /** `programs` are those whose only effect is what they print or write into the state folder. */
  constructor(real: Host, recorder: Host, stateFolder: string, programs: readonly string[]) {
    this.#real = real
    this.#recorder = recorder
    this.#folder = `${resolve(stateFolder)}/`
    this.#programs = new Set(programs)
  }

  #forPath(path: string): Host {
    return resolve(path).startsWith(this.#folder) ? this.#real : this.#recorder
  }

  run(argv: readonly string[], timeout_ms: number): Promise<RunResult> {
    return (this.#programs.has(argv[0] ?? '') ? this.#real : this.#recorder).run(argv, timeout_ms)
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
  portProblem(ip: string, port: number): Promise<string | undefined> {
    return this.#real.portProblem(ip, port)
  }
  unit(name: UnitName, verb: UnitVerb, timeout_ms: number): Promise<RunResult> {
    return this.#real.unit(name, verb, timeout_ms)
  }
  unitState(name: UnitName): Promise<UnitState> {
    return this.#real.unitState(name)
  }
  socket(path: string, request: string, timeout_ms: number): Promise<string> {
    return this.#forPath(path).socket(path, request, timeout_ms)
  }
}
