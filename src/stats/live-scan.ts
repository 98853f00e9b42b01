import { fieldEnd, fieldText, kindOf, SERVER_ROW, type StatHeader } from '../drivers/haproxy/stats-csv.ts'
import type { LiveKind } from './live-fields.ts'

/** What somebody wants to hear of: a figure of one kind of object that is beyond a bound. */
export interface Watched {
  readonly kind: LiveKind
  /** Of HAProxy's answer, or a figure of Layer 4. */
  readonly column: string
  /** Found when it is above this … */
  readonly above: number
  /** … or below that. */
  readonly below: number
  /** Instead of a number: whether health checks say that it is down. */
  readonly isDown?: true
}

/** Told of each figure that is beyond its bound; `proxy` and `server` are as HAProxy calls them. */
export type OnFound = (watched: Watched, value: number, proxy: string, server: string) => void

interface Place {
  readonly column: number
  readonly watched: Watched
}
export type ScanPlan = Readonly<Record<LiveKind, readonly Place[]>>

const [ZERO, NINE, COMMA, LETTER_D, LETTER_O] = [0x30, 0x39, 0x2c, 0x44, 0x4f]

/** Where the wanted columns are, from left to right. */
export function scanPlan(watched: readonly Watched[], columns: StatHeader['columns']): ScanPlan {
  const places = watched
    .flatMap((one) => {
      const column = columns.get(one.column)
      return column === undefined ? [] : [{ column, watched: one }]
    })
    .toSorted((a, b) => a.column - b.column)
  const of = (kind: LiveKind) => places.filter((place) => place.watched.kind === kind)
  return { frontend: of('frontend'), backend: of('backend'), server: of('server') }
}

/**
 * Goes through the rows once, whatever is wanted of them. A row of which nothing is found costs no memory: 20,000 of
 * them are looked at each second.
 */
export function scanRows(csv: Uint8Array, rows: Uint32Array, kinds: Uint8Array, plan: ScanPlan, found: OnFound): void {
  for (let row = 1; row < rows.length; row++) {
    const places = plan[kindOf(kinds[row - 1] ?? SERVER_ROW)]
    const start = rows[row] ?? 0
    let [at, column] = [start, 0]
    for (let index = 0; index < places.length; index++) {
      const place = places[index]
      if (place === undefined) continue
      for (; column < place.column; column++) at = fieldEnd(csv, at) + 1
      const { watched } = place
      const value = watched.isDown === true ? downAt(csv, at) : numberAt(csv, at)
      if (value > watched.above || value < watched.below) tell(csv, start, watched, value, found)
    }
  }
}

function tell(csv: Uint8Array, start: number, watched: Watched, value: number, found: OnFound): void {
  found(watched, value, fieldText(csv, start), fieldText(csv, fieldEnd(csv, start) + 1))
}

/** "DOWN", "DOWN 1/2", "DOWN (agent)": 1, else 0. */
const downAt = (csv: Uint8Array, at: number): number => (csv[at] === LETTER_D && csv[at + 1] === LETTER_O ? 1 : 0)

/** NaN, which is beyond no bound, where there is no number. */
export function numberAt(csv: Uint8Array, at: number): number {
  let [value, i] = [0, at]
  for (; i < csv.length; i++) {
    const byte = csv[i] ?? 0
    if (byte < ZERO || byte > NINE) break
    value = value * 10 + (byte - ZERO)
  }
  return i === at || (csv[i] !== COMMA && i < csv.length && csv[i] !== 0x0a) ? Number.NaN : value
}
