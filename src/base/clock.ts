import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

/** Time as a dependency, so that tests can own it. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. */
  now_ms(): number
  /** Monotonic milliseconds; only differences mean anything. */
  monotonic_ms(): number
}

/** Time since the machine was started: it goes on over restarts of the daemon, and no setting of the clock moves it. */
export interface MachineClock extends Clock {
  uptime_ms(): number
  /** Another one after each start of the machine. */
  readonly bootId: string
}

export const systemClock: MachineClock = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
  uptime_ms: () => uptime() * 1000,
  bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
}
