/** What a plan may do to the machine. Implemented by workers/host; drivers only describe. */
export interface Host {
  /** Runs a program without a shell. Output is capped; the environment is LC_ALL=C. */
  run(argv: readonly string[], timeout_ms: number): Promise<RunResult>
  readFile(path: string): Promise<string | undefined>
  /** Temporary file, fsync, rename, fsync of the folder: old or new, never between. */
  replaceFile(path: string, content: string, mode: number): Promise<void>
  /** Moves a file that was written by replaceFile over another one, durably. */
  renameFile(from: string, to: string): Promise<void>
  removeFile(path: string): Promise<void>
  /** Why nobody could listen on this port now; undefined when it is free. */
  portProblem(ip: string, port: number): Promise<string | undefined>
  /** `start` of a running program does nothing; `reload` and `restart` of a stopped one start it. */
  unit(name: UnitName, verb: UnitVerb, timeout_ms: number): Promise<RunResult>
  unitState(name: UnitName): Promise<UnitState>
  /** Sends one command to a control socket and reads the whole answer. */
  socket(path: string, request: string, timeout_ms: number): Promise<string>
}

/** Managed programs by the name they have in /services. */
export type UnitName = 'layer7proxy'
export type UnitVerb = 'start' | 'stop' | 'reload' | 'restart'
export type UnitState = 'running' | 'stopped' | 'failed' | 'missing'

export interface RunResult {
  /** Exit code; 127 when the program is not installed, 126 when it could not be started, 124 when the deadline passed. */
  readonly exitCode: number
  readonly output: string
}
