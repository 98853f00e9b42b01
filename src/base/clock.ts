import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

/** Time as a dependency, so that tests can control it. */
export interface Clock {
  /** Returns the wall clock, in milliseconds since the Unix epoch. */
  now_ms(): number
  /** Returns monotonic milliseconds; only differences mean anything. */
  monotonic_ms(): number
}

/** Time since boot: it continues across restarts of the daemon, and setting the clock does not change it. */
export interface MachineClock extends Clock {
  uptime_ms(): number
  /** Differs after each boot. */
  readonly bootId: string
}

export const systemClock: MachineClock = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
  uptime_ms: () => uptime() * 1000,
  bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
}
