import type { Driver } from '../drivers/driver.ts'
import type { ConfigView } from '../model/sections.ts'

/** Who polls waits for as long as the loop does not turn. */
const SLICE_MS = 1

/** Resolves when the event loop has answered what came in meanwhile. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Does work portion by portion; the loop turns after each millisecond of it. */
export async function inTurns(work: Iterable<unknown>): Promise<void> {
  let began_ms = performance.now()
  for (const _portion of work) {
    if (performance.now() - began_ms < SLICE_MS) continue
    await turn()
    began_ms = performance.now()
  }
}

/** Afterwards verifying and planning this configuration takes no longer than a look at each record. */
export async function prepare(drivers: readonly Driver[], view: ConfigView): Promise<void> {
  for (const driver of drivers) await inTurns(driver.prepare(view))
}
