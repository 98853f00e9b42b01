import { descriptorChannel } from '../../src/ipvs/descriptor.ts'
import type { NetlinkChannel } from '../../src/ipvs/exchange.ts'
import type { IpvsTable } from '../../src/ipvs/table.ts'
import { TIERS, TWO_SECOND_TIERS } from '../../storage/archive/tiers.ts'
import type { Absorbed } from './collector.ts'
import { HaproxyFeed } from './haproxy-feed.ts'
import { IpvsFeed } from './ipvs-feed.ts'
import type { HaproxyTick, IpvsSource, IpvsTick, StatsSource } from './messages.ts'
import type { Rhythm } from './feed.ts'
import type { Poll } from './source.ts'

/** HAProxy counts at once, and is asked every second. */
export const haproxyRhythm = (source: StatsSource): Rhythm<Poll, Absorbed, HaproxyTick> => ({
  tiers: TIERS,
  step_s: 1,
  offset_ms: 50,
  feed: (writer) => new HaproxyFeed(source, writer),
})

/**
 * The kernel adds its counters up every two seconds: to look more often shows standstill and leaps. Half a second off
 * the other.
 */
export const ipvsRhythm = (
  { fd }: IpvsSource,
  channel?: NetlinkChannel,
): Rhythm<IpvsTable | string, Float64Array<ArrayBuffer>, IpvsTick> => ({
  tiers: TWO_SECOND_TIERS,
  step_s: 2,
  offset_ms: 550,
  feed: (writer) => new IpvsFeed(channel ?? (fd === undefined ? undefined : descriptorChannel(fd)), writer),
})
