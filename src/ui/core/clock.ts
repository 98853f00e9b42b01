import { signal } from '@preact/signals'

/** Moments are those of the daemon: the clock of a browser may be wrong by years. */

/** How far the clock of this browser is ahead of the daemon's. */
export const ahead_ms = signal(0)

export const daemonNow_ms = (): number => Date.now() - ahead_ms.value
