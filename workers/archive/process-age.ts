/**
 * Slack for ages: HAProxy reports them in whole seconds, and a process is older than its first answer because it reads
 * its configuration before it serves.
 */
const AGE_SLACK_S = 5

/** How old a process was at a poll, and when the poll ended on the monotonic clock. */
export interface ProcessAge {
  readonly uptime_s: number | undefined
  /** End of the poll. */
  readonly heard_s: number
  /** Length of the poll. HAProxy read the age at some time during it, long before the end if the poll was held up. */
  readonly took_s: number
  /** End of the poll, on the wall clock. */
  readonly wall_s?: number | undefined
}

/**
 * Whether a process that is `uptime_s` old certainly started after a process with the same pid was polled, `ago_s`
 * before the end of a poll that took `took_s`. HAProxy reports its age in whole seconds.
 */
export function beganAfter(uptime_s: number, ago_s: number, took_s: number): boolean {
  return uptime_s + 1 < ago_s - took_s
}

/**
 * Whether a process that was absent from the last good poll, `since_s` ago, has started since then, so that all its
 * counters are new. An older one existed and served elsewhere: another machine now answers at this address, or the
 * address was moved. Without an age, an absent process counts as new. Before the first poll of this run (`since_s` then
 * dates from an earlier run) only the age can prove it.
 */
export function beganSince(uptime_s: number | undefined, since_s: number, hasPolled: boolean): boolean {
  if (uptime_s === undefined) return hasPolled
  return uptime_s <= since_s + (hasPolled ? AGE_SLACK_S : 0)
}

/**
 * Whether a pid now belongs to another process: it has started since, or the ages do not fit the time between the
 * polls. HAProxy's master computes ages from the wall clock (`show proc`, 2.6), so an age that moved with a step of the
 * clock is the same process's.
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
