import type { ConsoleActor } from '../context/machine-care.ts'
import type { Step } from '../drivers/driver.ts'

const TIMEOUT_MS = 60_000

interface PlanRunner {
  run(steps: readonly Step[]): Promise<{ readonly isDryRun: boolean }>
}

/** Changes console access at once, in turn with everything else that changes the machine. */
export function createConsole({ engine }: { readonly engine: PlanRunner }): ConsoleActor {
  return {
    change(change) {
      const verb = change.shell === undefined ? 'change the console password' : 'switch console access'
      const why = change.shell === undefined ? verb : `${verb} ${change.shell ? 'on' : 'off'}`
      return engine.run([{ kind: 'account', why, timeout_ms: TIMEOUT_MS, change: { account: 'console', ...change } }])
    },
  }
}
