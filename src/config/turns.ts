import type { ConfigStore } from '../../storage/config/config-store.ts'
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

/** Takes portion after portion; the loop turns after each millisecond of work. */
export async function inTurns<T>(portions: Iterable<T>, use: (portion: T) => void = () => undefined): Promise<void> {
  let began_ms = performance.now()
  for (const portion of portions) {
    use(portion)
    if (performance.now() - began_ms < SLICE_MS) continue
    await turn()
    began_ms = performance.now()
  }
}

/** Afterwards verifying and planning this configuration takes no longer than a look at each record. */
export async function prepare(drivers: readonly Driver[], view: ConfigView): Promise<void> {
  for (const driver of drivers) await inTurns(driver.prepare(view))
}

/** Repeats work that takes turns until no apply has ended meanwhile: what it read of running is then of one revision. */
export async function onOneRevision<T>(store: ConfigStore, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const { revision } = store
    const [outcome] = await Promise.allSettled([work()])
    if (store.revision !== revision) continue
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }
}
