import { inTurns } from '../base/turns.ts'
import type { Driver } from '../drivers/driver.ts'
import type { ConfigView } from '../model/sections.ts'
import type { ConfigStore } from '../../storage/config/config-store.ts'

/**
 * Prepares drivers in turns, so that verifying and planning this configuration then costs no more than a look at each
 * record.
 */
export async function prepare(drivers: readonly Driver[], view: ConfigView): Promise<void> {
  for (const driver of drivers) await inTurns(driver.prepare(view))
}

/** Repeats work that takes turns until no apply has ended during it: all it read of running is then of one revision. */
export async function onOneRevision<T>(store: ConfigStore, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const { revision } = store
    const [outcome] = await Promise.allSettled([work()])
    if (store.revision !== revision) continue
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  }
}
