import { readFileSync } from 'node:fs'

/** Written by keepalived, of which only one runs. */
const PID_FILE = '/run/keepalived.pid'
/** keepalived may restart between two looks. */
const MISSES_MAX = 2

/** Returns whether the process in a pid file is keepalived and is not stopped: a killed process leaves its file. */
export function keepalivedRuns(pidFile = PID_FILE): boolean {
  try {
    const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
    return /^\d+ \(keepalived[^)]*\) [^TtXZ]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/**
 * Watches keepalived, which removes real servers from the kernel's table if their checks fail. Without it the table
 * keeps its servers, and says nothing about their health.
 */
export class Director {
  readonly #runs: () => boolean
  readonly #tell: (up: boolean) => void
  #misses = 0

  /** `tell` is called when keepalived was missed twice, and when it is back. */
  constructor(runs: () => boolean, tell: (up: boolean) => void) {
    this.#runs = runs
    this.#tell = tell
  }

  /** Checks and returns whether it runs now. */
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

  /** Resets, because nothing needs it now. */
  rest(): void {
    this.#misses = 0
  }
}
