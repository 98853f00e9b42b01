/**
 * The samples for every tool, and the model against which every answer is checked. They are computed from the object's
 * number and the second alone, so nothing needs to be stored: half of the objects idle, 2 % at about 1,000 sessions a
 * second, the others light, bytes following sessions. Short windows read objects with a sample each second. Each long
 * window has an object of its own with at most one sample per bucket, so that tools without coarser archives hold just
 * what the window returns.
 */
import { scaled } from '../scale.ts'

export const METRIC_NAMES = ['current_sessions', 'sessions', 'bytes_in', 'bytes_out'] as const

export const HOUR_S = 3_600
export const DAY_S = 24 * HOUR_S
/** Seconds of history of the objects that have a sample each second. */
export const DENSE_S = scaled(2 * HOUR_S, 400)
export const OBJECTS = scaled(100, 10)
export const GROUP_SERVERS = scaled(50, 4)

export interface SampledObject {
  readonly index: number
  readonly name: string
  readonly kind: 'frontend' | 'backend' | 'server'
  /** Backend of a server: `a` holds the fifty, `b` the others. */
  readonly group: 'a' | 'b'
  /** Seconds from one sample to the next. */
  readonly every_s: number
  readonly history_s: number
  readonly busy: number
}

const [DAY_OBJECT, MONTH_OBJECT, YEARS_OBJECT] = [OBJECTS - 3, OBJECTS - 2, OBJECTS - 1]
/**
 * 301 s for the tier of 300 s: the archive's writer skips gaps of five minutes in one step, which keeps loading short.
 * Every 300th bucket stays unknown, for every tool.
 */
const SPARSE = new Map([
  [DAY_OBJECT, { every_s: 10, history_s: scaled(DAY_S, HOUR_S) }],
  [MONTH_OBJECT, { every_s: 301, history_s: scaled(40 * DAY_S, 8 * HOUR_S) }],
  [YEARS_OBJECT, { every_s: HOUR_S, history_s: scaled(730 * DAY_S, 3 * DAY_S) }],
])

function makeObject(index: number): SampledObject {
  const light = index % 2 === 0 ? 20 : 0
  const sparse = SPARSE.get(index)
  const kind = index === 0 ? 'frontend' : index === 1 || index === GROUP_SERVERS + 2 ? 'backend' : 'server'
  return {
    index,
    name: `o${index}`,
    kind,
    group: index <= GROUP_SERVERS + 1 ? 'a' : 'b',
    busy: index % 50 === 0 || sparse !== undefined ? 1_000 : light,
    ...(sparse ?? { every_s: 1, history_s: DENSE_S }),
  }
}

/** Returns a value evenly distributed over [0, 1), always the same for the same object and second. */
function chance(index: number, second: number): number {
  let mixed = Math.imul(second, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 4_294_967_296
}

/** Returns the current sessions, or what was added in this second: sessions, bytes in, bytes out. */
export function valueAt(
  { index, busy }: Pick<SampledObject, 'index' | 'busy'>,
  metric: number,
  second: number,
): number {
  const sessions = Math.floor(chance(index, second) * busy)
  if (metric === 0) return Math.floor(Math.sqrt(sessions))
  return sessions * ([1, 1, 400, 9_000][metric] ?? 0)
}

/** Number and sum of the known values of each metric. */
export interface Totals {
  readonly counts: readonly number[]
  readonly sums: readonly number[]
}

export class DataSet {
  readonly objects: readonly SampledObject[] = Array.from({ length: OBJECTS }, (_, index) => makeObject(index))
  /** The first second after all samples. */
  readonly end_s: number

  constructor(end_s: number) {
    this.end_s = end_s
  }

  get day(): SampledObject {
    return this.#at(DAY_OBJECT)
  }
  get month(): SampledObject {
    return this.#at(MONTH_OBJECT)
  }
  get years(): SampledObject {
    return this.#at(YEARS_OBJECT)
  }
  get dense(): readonly SampledObject[] {
    return this.objects.filter(({ every_s }) => every_s === 1)
  }
  /** The fifty servers, busiest first. */
  get group(): readonly SampledObject[] {
    const servers = this.objects.filter(({ kind, group }) => kind === 'server' && group === 'a')
    return servers.toSorted((a, b) => b.busy - a.busy)
  }

  #at(index: number): SampledObject {
    const object = this.objects[index]
    if (object === undefined) throw new RangeError(`there is no object ${index}`)
    return object
  }

  /** Yields the seconds of the object's samples, in order, from `from_s` on. */
  *seconds({ every_s, history_s }: SampledObject, from_s = 0, end_s = this.end_s): Generator<number> {
    const first = Math.max(from_s, this.end_s - history_s)
    const last = Math.min(this.end_s, end_s)
    for (let second = Math.ceil(first / every_s) * every_s; second < last; second += every_s) yield second
  }

  get samples(): number {
    const per = (object: SampledObject) => Math.floor(object.history_s / object.every_s)
    return this.objects.reduce((sum, object) => sum + per(object), 0) * METRIC_NAMES.length
  }

  totals(objects: readonly SampledObject[], start_s: number, end_s: number): Totals {
    const counts = METRIC_NAMES.map(() => 0)
    const sums = METRIC_NAMES.map(() => 0)
    for (const object of objects) {
      for (const second of this.seconds(object, start_s, end_s)) {
        for (const metric of METRIC_NAMES.keys()) {
          counts[metric] = (counts[metric] ?? 0) + 1
          sums[metric] = (sums[metric] ?? 0) + valueAt(object, metric, second)
        }
      }
    }
    return { counts, sums }
  }
}
