/**
 * HAProxy tells its age in whole seconds, and a process is older than its first answer: it reads its file before it
 * serves.
 */
const AGE_SLACK_S = 5

/** How old a process was when it was asked, on a clock that only goes forward. */
export interface ProcessAge {
  readonly uptime_s: number | undefined
  readonly asked_s: number
  /** The same on the wall clock. */
  readonly wall_s?: number | undefined
}

/**
 * Whether a process that was not there at the last good poll, `since_s` ago, has begun since then, so that all its
 * counters are new. One that is older was there and served others: another machine answers at this address now, or an
 * address was moved. Without an age, what was not there has begun. Before the first poll of this run (`since_s` is then
 * of an earlier run) nobody knows what was there, and the age must prove it.
 */
export function beganSince(uptime_s: number | undefined, since_s: number, hasPolled: boolean): boolean {
  if (uptime_s === undefined) return hasPolled
  return uptime_s <= since_s + (hasPolled ? AGE_SLACK_S : 0)
}

/**
 * Whether the number of a process stands for another process than before: the ages do not fit the time between.
 * HAProxy's master reckons with the wall clock (`show proc`, 2.6): an age that went with a step of the clock is the
 * same process's.
 */
export function isAnother(before: ProcessAge, now: ProcessAge): boolean {
  if (before.uptime_s === undefined || now.uptime_s === undefined) return false
  const grown_s = now.uptime_s - before.uptime_s
  const fits = (passed_s: number) => Math.abs(grown_s - passed_s) <= AGE_SLACK_S
  if (fits(now.asked_s - before.asked_s)) return false
  return before.wall_s === undefined || now.wall_s === undefined || !fits(now.wall_s - before.wall_s)
}
