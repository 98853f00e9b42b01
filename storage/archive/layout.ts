import { span_s, type Tier } from './tiers.ts'

/** Keys are two big-endian u32, so that byte order is (time, object): writes append and trims cut the head. */
export function makeKey(first: number, second: number): Uint8Array {
  return writeKey(new Uint8Array(8), first, second)
}

export function writeKey(key: Uint8Array, first: number, second: number): Uint8Array {
  key[0] = first >>> 24
  key[1] = first >>> 16
  key[2] = first >>> 8
  key[3] = first
  key[4] = second >>> 24
  key[5] = second >>> 16
  key[6] = second >>> 8
  key[7] = second
  return key
}

export function keyFirst(key: Uint8Array): number {
  return ((key[0] ?? 0) * 0x1000000 + ((key[1] ?? 0) << 16) + ((key[2] ?? 0) << 8) + (key[3] ?? 0)) >>> 0
}

export function keySecond(key: Uint8Array): number {
  return ((key[4] ?? 0) * 0x1000000 + ((key[5] ?? 0) << 16) + ((key[6] ?? 0) << 8) + (key[7] ?? 0)) >>> 0
}

/**
 * Phase of an object's chunk ends, so that the writes of many objects spread evenly over time. It follows from the
 * object's number: a reader computes the exact key of any chunk and never scans.
 */
function phase_s(tier: Tier, objectId: number): number {
  return (objectId % tier.points) * tier.step_s
}

/** Returns the latest chunk end of the object that is not after `time_s`. */
export function chunkEndAtOrBefore(tier: Tier, objectId: number, time_s: number): number {
  const span = span_s(tier)
  const past = (time_s - phase_s(tier, objectId)) % span
  return time_s - (past < 0 ? past + span : past)
}

/** Returns the end of the chunk that contains the bucket starting at `time_s`. */
export function chunkEndAfter(tier: Tier, objectId: number, time_s: number): number {
  return chunkEndAtOrBefore(tier, objectId, time_s) + span_s(tier)
}

export function floorTo(time_s: number, step_s: number): number {
  return time_s - (time_s % step_s)
}

export function ceilTo(time_s: number, step_s: number): number {
  return floorTo(time_s + step_s - 1, step_s)
}

/**
 * The oldest second that a tier answers for: its nominal retention, whether or not there is data, but nothing before
 * its floor (for a tier that once kept less).
 */
export function coverageStart(tier: Tier, hwm_s: number): number {
  return Math.max(floorTo(hwm_s, tier.step_s) - tier.step_s * tier.rows, ceilTo(tier.floor_s ?? 0, tier.step_s))
}
