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

/** HAProxy counts immediately and is polled every second. */
export const haproxyRhythm = (source: StatsSource): Rhythm<Poll, Absorbed, HaproxyTick> => ({
  tiers: TIERS,
  step_s: 1,
  offset_ms: 50,
  feed: (writer) => new HaproxyFeed(source, writer),
})

/**
 * The kernel updates its counters every two seconds: faster polls would alternate between standstill and jumps. Offset
 * by half a second from HAProxy's polls.
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
