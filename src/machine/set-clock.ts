import type { ClockActor } from '../context/machine-care.ts'
import type { ApplyEngine } from '../config/apply.ts'

const TIMEOUT_MS = 30_000

interface ClockParts {
  readonly engine: Pick<ApplyEngine, 'run'>
  /** Notified at once that the clock was set, unless that was only recorded. */
  readonly archives: { clockStepped(): void }
}

/** Sets the clock of the machine to a wall time in its own zone. */
export function createClock({ engine, archives }: ClockParts): ClockActor {
  return {
    async set(wallTime) {
      // Through timedated: the daemon itself has no right to set the clock.
      const argv = ['timedatectl', 'set-time', wallTime]
      const why = `set the clock to ${wallTime}`
      const done = await engine.run([{ kind: 'run', argv, undo: 'irreversible', timeout_ms: TIMEOUT_MS, why }])
      if (!done.isDryRun) archives.clockStepped()
      return done
    },
  }
}
