import type { MachineClock } from '../src/clock.ts'

/** A clock that moves only when told. */
export function manualClock(
  start_ms = Date.parse('2026-01-02T03:04:05Z'),
): MachineClock & { advance(ms: number): void } {
  let passed_ms = 0
  return {
    now_ms: () => start_ms + passed_ms,
    monotonic_ms: () => passed_ms,
    uptime_ms: () => 1_000_000 + passed_ms,
    bootId: 'boot-1',
    advance(ms) {
      passed_ms += ms
    },
  }
}
