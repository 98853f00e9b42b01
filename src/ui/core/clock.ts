import { signal } from '@preact/signals'

/** Times are those of the daemon: the clock of a browser may be wrong by years. */

/** How far the browser's clock is ahead of the daemon's. */
export const ahead_ms = signal(0)

export const daemonNow_ms = (): number => Date.now() - ahead_ms.value
