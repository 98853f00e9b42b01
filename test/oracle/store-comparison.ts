/** Compares the answers of a reader with the reference model, bucket by bucket and bit by bit. */
import { consolidateBase, consolidatePoints, Points } from '../../storage/archive/consolidate.ts'
import type { ArchiveReader } from '../../storage/archive/reader.ts'
import type { ReadableObject } from '../../storage/archive/tier-reader.ts'
import { METRIC_COUNT, TIERS, tierAt } from '../../storage/archive/tiers.ts'
import type { ReferenceModel } from '../storage/archive/reference-model.ts'

/** Count, sum, minimum and maximum of a bucket. */
export const COLUMNS = 4

export interface NamedPlace extends ReadableObject {
  readonly name: string
}

/** Buckets of any tier, those of the base tier as buckets of one second. */
export function readTier(reader: ArchiveReader, tier: number, place: ReadableObject, from: number, to: number): Points {
  const points = new Points()
  if (tier > 0) {
    if (!reader.readCoarse(tier, place, from, to, points)) throw new Error('the read was overtaken')
    return points
  }
  const values = new Float64Array((to - from) * METRIC_COUNT)
  if (!reader.readBase(place, from, to, values)) throw new Error('the read was overtaken')
  points.reset(to - from)
  consolidateBase(values, to - from, 1, points, 0)
  return points
}

const bucketText = ({ count, sum, minimum, maximum }: Points, at: number) =>
  JSON.stringify([count[at], sum[at], minimum[at], maximum[at]])

/** Throws unless both hold the same buckets; returns the number of columns. */
export function insistSame(what: string, got: Points, wanted: Points): number {
  if (got.n !== wanted.n) throw new Error(`${what}: ${got.n} buckets instead of ${wanted.n}`)
  const size = got.n * METRIC_COUNT
  for (let at = 0; at < size; at += 1) {
    const isSame =
      got.count[at] === wanted.count[at] &&
      got.sum[at] === wanted.sum[at] &&
      got.minimum[at] === wanted.minimum[at] &&
      got.maximum[at] === wanted.maximum[at]
    if (isSame) continue
    const where = `metric ${Math.floor(at / got.n)}, bucket ${at % got.n}`
    throw new Error(`${what}, ${where}: ${bucketText(got, at)} instead of ${bucketText(wanted, at)}`)
  }
  return size * COLUMNS
}

export function modelPoints(model: ReferenceModel, name: string, from: number, to: number, step_s: number): Points {
  const points = new Points()
  points.reset((to - from) / step_s)
  for (let metric = 0; metric < METRIC_COUNT; metric += 1) {
    for (let start = from, at = metric * points.n; start < to; start += step_s, at += 1) {
      const { count, sum, minimum, maximum } = model.bucket(name, metric, start, step_s)
      if (count > 0) points.add(at, count, sum, minimum, maximum)
    }
  }
  return points
}

/** The average lies between minimum and maximum wherever a value is known. */
export function insistOrder(what: string, { n, count, sum, minimum, maximum }: Points): void {
  for (let at = 0; at < n * METRIC_COUNT; at += 1) {
    const known = count[at] ?? 0
    if (known === 0) continue
    const average = (sum[at] ?? 0) / known
    if ((minimum[at] ?? 0) <= average && average <= (maximum[at] ?? 0)) continue
    throw new Error(
      `${what}, bucket ${at % n}: the average ${average} lies outside of ${minimum[at]} to ${maximum[at]}`,
    )
  }
}

export interface Window {
  readonly tier: number
  readonly place: NamedPlace
  readonly from: number
  readonly to: number
}

const titleOf = ({ tier, place, from, to }: Window) => `${tierAt(tier).name} of ${place.name}, ${from} to ${to}`

/** Compares the window with the model; returns the number of compared columns. */
export function compareWithModel(reader: ArchiveReader, model: ReferenceModel, window: Window): number {
  const { tier, place, from, to } = window
  const got = readTier(reader, tier, place, from, to)
  insistOrder(titleOf(window), got)
  return insistSame(titleOf(window), got, modelPoints(model, place.name, from, to, tierAt(tier).step_s))
}

/** A window equals its two parts, wherever it is cut. */
export function compareParts(reader: ArchiveReader, window: Window, cut: number): number {
  const { tier, place, from, to } = window
  const whole = readTier(reader, tier, place, from, to)
  const joined = new Points()
  joined.reset(whole.n)
  for (const [first, last] of [
    [from, cut],
    [cut, to],
  ] as const) {
    const part = readTier(reader, tier, place, first, last)
    const offset = (first - from) / tierAt(tier).step_s
    for (let metric = 0; metric < METRIC_COUNT; metric += 1) {
      for (let i = 0; i < part.n; i += 1) {
        const at = metric * part.n + i
        const { count, sum, minimum, maximum } = part
        if (count[at] === 0) continue
        const target = metric * joined.n + offset + i
        joined.add(target, count[at] ?? 0, sum[at] ?? 0, minimum[at] ?? 0, maximum[at] ?? 0)
      }
    }
  }
  return insistSame(`${titleOf(window)}, cut at ${cut}`, joined, whole)
}

/** A coarse tier equals the consolidation of any finer one over the same window. */
export function compareTiers(reader: ArchiveReader, window: Window, finer: number): number {
  const { tier, place, from, to } = window
  const source = readTier(reader, finer, place, from, to)
  const made = new Points()
  made.reset((to - from) / tierAt(tier).step_s)
  consolidatePoints(source, tierAt(tier).step_s / tierAt(finer).step_s, made, 0)
  return insistSame(`${titleOf(window)}, from ${TIERS[finer]?.name}`, made, readTier(reader, tier, place, from, to))
}
