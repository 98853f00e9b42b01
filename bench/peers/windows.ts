import { scaled } from '../scale.ts'
import { type DataSet, HOUR_S, type SampledObject, type Totals } from './data-set.ts'

export interface Query {
  /** One object, or all fifty servers of the group. */
  readonly objects: readonly SampledObject[]
  readonly step_s: number
  readonly start_s: number
  /** Exclusive; a multiple of the step after the start. */
  readonly end_s: number
}

export interface Window {
  readonly title: string
  readonly round_s: number
  /** Number of simultaneous HTTP clients: few where an answer takes long, so that a round holds many whole answers. */
  readonly clients: number
  /** All different; the fixed variant repeats the first. */
  readonly queries: readonly Query[]
}

interface Shape {
  readonly title: string
  readonly step_s: number
  readonly buckets: number
  /**
   * Number of buckets by which windows may be shifted back, so that all of them stay in the tier's coverage during the
   * run.
   */
  readonly room: number
  readonly different: number
  readonly round_s: number
  readonly clients: number
  readonly subjects: readonly (readonly SampledObject[])[]
}

function makeWindow(data: DataSet, shape: Shape): Window {
  const { step_s, buckets, room, subjects } = shape
  const last_s = data.end_s - (data.end_s % step_s)
  const queries = Array.from({ length: shape.different }, (_, k) => {
    // Seven and the room sizes have no common factor, so every start occurs.
    const end_s = last_s - ((k * 7) % room) * step_s
    return { objects: subjects[k % subjects.length] ?? [], step_s, start_s: end_s - buckets * step_s, end_s }
  })
  return { title: shape.title, round_s: shape.round_s, clients: shape.clients, queries }
}

/** Returns the windows. Long ones are a little shorter than their tier, so that they can roll within it. */
export function makeWindows(data: DataSet, round_s: number): readonly Window[] {
  const [busiest] = data.group
  const dense = busiest === undefined ? [] : [busiest]
  const short = { step_s: 1, round_s, clients: 16 }
  const long = { different: scaled(400, 10), room: scaled(400, 10), round_s: scaled(round_s / 2, round_s), clients: 4 }
  const hour = { buckets: scaled(HOUR_S, 200), room: scaled(2_000, 100) }
  const shapes: readonly Shape[] = [
    {
      title: '60 s at 1 s',
      ...short,
      buckets: 60,
      room: scaled(5_000, 200),
      different: scaled(20_000, 200),
      subjects: data.group.map((object) => [object]),
    },
    { title: '1 h at 1 s', ...short, ...hour, different: hour.room, subjects: [dense] },
    { title: '1 d at 10 s', step_s: 10, buckets: scaled(8_100, 300), ...long, subjects: [[data.day]] },
    { title: '40 d at 5 min', step_s: 300, buckets: scaled(11_000, 60), ...long, subjects: [[data.month]] },
    { title: '2 y at 1 h', step_s: HOUR_S, buckets: scaled(17_000, 50), ...long, subjects: [[data.years]] },
    {
      title: '50 servers, 1 h at 1 s',
      ...short,
      clients: 2,
      ...hour,
      different: 100,
      subjects: [data.group],
    },
  ]
  // In a smoke run, the longest window stands for all long ones.
  const chosen = scaled(
    shapes,
    shapes.filter(({ title }) => !/^(1|40) d/.test(title)),
  )
  return chosen.map((shape) => makeWindow(data, shape))
}

/** Throws unless the answer has the same number and sum of known values as the model. */
export function checkTotals(what: string, got: Totals, wanted: Totals): void {
  for (const [metric, sum] of wanted.sums.entries()) {
    const isSame = Math.abs((got.sums[metric] ?? Number.NaN) - sum) <= 1e-9 * Math.max(1, sum)
    if (isSame && got.counts[metric] === wanted.counts[metric]) continue
    throw new Error(`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`)
  }
}
