/**
 * HAProxy tells its age in whole seconds, and a process is older than its first answer: it reads its file before it
 * serves.
 */
const AGE_SLACK_S = 5

/** How old a process was at a poll, and when that was: on a clock that only goes forward. */
export interface ProcessAge {
  readonly uptime_s: number | undefined
  /** When the poll was over. */
  readonly heard_s: number
  /** Length of the poll: it read the age somewhere in this time, long before the end if the poll was held up. */
  readonly took_s: number
  /** When the poll was over, on the wall clock. */
  readonly wall_s?: number | undefined
}

/**
 * Whether a process that is `uptime_s` old has certainly begun after one of the same number was heard, `ago_s` before
 * the end of a poll that took `took_s`. Its age is told in whole seconds.
 */
export function beganAfter(uptime_s: number, ago_s: number, took_s: number): boolean {
  return uptime_s + 1 < ago_s - took_s
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
 * Whether the number of a process stands for another process than before: it has begun since, or the ages do not fit
 * the time between. HAProxy's master reckons with the wall clock (`show proc`, 2.6): an age that went with a step of
 * the clock is the same process's.
 */
export function isAnother(before: ProcessAge, now: ProcessAge): boolean {
  const { uptime_s } = now
  if (before.uptime_s === undefined || uptime_s === undefined) return false
  const grown_s = uptime_s - before.uptime_s
  const fits = (passed_s: number) =>
    !beganAfter(uptime_s, passed_s, now.took_s) &&
    grown_s >= passed_s - now.took_s - AGE_SLACK_S &&
    grown_s <= passed_s + before.took_s + AGE_SLACK_S
  if (fits(now.heard_s - before.heard_s)) return false
  return before.wall_s === undefined || now.wall_s === undefined || !fits(now.wall_s - before.wall_s)
}
