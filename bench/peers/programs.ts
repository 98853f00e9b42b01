import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, readdirSync, readFileSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const FOLDERS = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin'] // oxlint-disable-line node/no-process-env -- where programs are

/** Returns the path of an installed program. */
export function findProgram(name: string): string | undefined {
  for (const folder of FOLDERS) {
    const file = join(folder, name)
    try {
      accessSync(file, constants.X_OK)
      return file
    } catch {
      // The program is not in this folder.
    }
  }
  return undefined
}

/** A server process of the benchmark; `stop` waits until it has exited. */
export class ServerProcess {
  readonly #child: ChildProcess
  #log = ''

  constructor(program: string, args: readonly string[]) {
    this.#child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#log = (this.#log + text).slice(-2_000)))
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Retries until `ask` succeeds. */
  async until<T>(ask: () => Promise<T>): Promise<T> {
    const deadline_ms = performance.now() + 60_000
    for (;;) {
      try {
        return await ask()
      } catch (error) {
        if (this.#child.exitCode !== null)
          throw new Error(`${this.#child.spawnfile} ended: ${this.#log}`, { cause: error })
        if (performance.now() > deadline_ms) throw error
        await wait(5)
      }
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await gone
  }
}

/** Runs a program to its end; an error contains the program's error output. */
export async function runProgram(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-2_000)))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${log}`)
}

function ioFigure(pid: number | 'self', name: string): number {
  return Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? Number.NaN)
}

/**
 * Returns the bytes that a process has caused to be written: the kernel counts pages that become dirty, those of mapped
 * files included.
 */
export function writtenBytes(pid: number | 'self'): number {
  return ioFigure(pid, 'write_bytes')
}

/**
 * Returns the bytes in the write calls of a process. This is for a program that rewrites single pages of files written
 * in large pieces: recent kernels then count the whole piece as dirty, but write only the pages.
 */
export function handedBytes(pid: number | 'self'): number {
  return ioFigure(pid, 'wchar')
}

/** Returns the resident memory without the program's own file pages. */
export function privateBytes(pid: number | 'self'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) * 1_024
}

/** Returns the bytes on disk of all files below a folder. */
export function diskBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).blocks * 512, 0)
}
