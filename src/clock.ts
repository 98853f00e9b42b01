/** Time as a dependency, so that tests can own it. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. */
  now_ms(): number
  /** Monotonic milliseconds; only differences mean anything. */
  monotonic_ms(): number
}

export const systemClock: Clock = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
}
