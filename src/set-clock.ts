import type { ApplyEngine } from './config/apply.ts'

const TIMEOUT_MS = 30_000

/** Sets the clock of the machine to a wall time of its own zone. `stepped` is told at once, unless it was only recorded. */
export function clockSetter(engine: Pick<ApplyEngine, 'run'>, stepped: () => void) {
  return async (wallTime: string): Promise<{ readonly isDryRun: boolean }> => {
    // Through timedated: the daemon itself never has the right to set the clock.
    const argv = ['timedatectl', 'set-time', wallTime]
    const why = `set the clock to ${wallTime}`
    const done = await engine.run([{ kind: 'run', argv, undo: 'irreversible', timeout_ms: TIMEOUT_MS, why }])
    if (!done.isDryRun) stepped()
    return done
  }
}
