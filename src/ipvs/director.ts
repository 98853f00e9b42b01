import { readFileSync } from 'node:fs'

/** Written by keepalived, of which one runs. */
const PID_FILE = '/run/keepalived.pid'
/** It may be restarted between two looks. */
const MISSES_MAX = 2

/**
 * Looks whether a process that a pid file names runs as keepalived, and is not stopped: a process that is killed leaves
 * its file.
 */
export function keepalivedRuns(pidFile = PID_FILE): boolean {
  try {
    const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
    return /^\d+ \(keepalived[^)]*\) [^TtXZ]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/**
 * Takes real servers out of the kernel's table when their checks fail. Without it the table keeps the servers that it
 * has, and says nothing about their health.
 */
export class Director {
  readonly #runs: () => boolean
  readonly #tell: (up: boolean) => void
  #misses = 0

  /** `tell` is called when it was missed twice, and when it is back. */
  constructor(runs: () => boolean, tell: (up: boolean) => void) {
    this.#runs = runs
    this.#tell = tell
  }

  /** Whether it runs now. */
  look(): boolean {
    if (!this.#runs()) {
      this.#misses++
      if (this.#misses === MISSES_MAX) this.#tell(false)
      return false
    }
    if (this.#misses >= MISSES_MAX) this.#tell(true)
    this.#misses = 0
    return true
  }

  /** Whether it was missed twice. */
  get isAway(): boolean {
    return this.#misses >= MISSES_MAX
  }

  /** Nobody needs it now. */
  rest(): void {
    this.#misses = 0
  }
}
