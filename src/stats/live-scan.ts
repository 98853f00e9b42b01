import { fieldEnd, fieldText, kindOf, SERVER_ROW, type StatHeader } from '../drivers/haproxy/stats-csv.ts'
import type { LiveKind } from './live-fields.ts'

/** A condition: a figure of one kind of object that is beyond a bound. */
export interface Watched {
  readonly kind: LiveKind
  /** A column of HAProxy's answer, or a figure of Layer 4. */
  readonly column: string
  /** Matches when the figure is above this … */
  readonly above: number
  /** … or below this. */
  readonly below: number
  /** Instead of a number: matches when health checks report the object as down. */
  readonly isDown?: true
}

/** Called for each figure that is beyond its bound; `proxy` and `server` are HAProxy's names. */
export type OnFound = (watched: Watched, value: number, proxy: string, server: string) => void

interface Place {
  readonly column: number
  readonly watched: Watched
}
export type ScanPlan = Readonly<Record<LiveKind, readonly Place[]>>

const [ZERO, NINE, COMMA, LETTER_D, LETTER_O] = [0x30, 0x39, 0x2c, 0x44, 0x4f]

/** Returns the positions of the wanted columns, from left to right. */
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
 * Goes through the rows once for all conditions. A row without a match costs no memory: 20,000 rows are read each
 * second.
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

/** Returns 1 for "DOWN", "DOWN 1/2" and "DOWN (agent)", else 0. */
const downAt = (csv: Uint8Array, at: number): number => (csv[at] === LETTER_D && csv[at + 1] === LETTER_O ? 1 : 0)

/** Returns the number of a field; NaN, which is beyond no bound, where there is none. */
export function numberAt(csv: Uint8Array, at: number): number {
  let [value, i] = [0, at]
  for (; i < csv.length; i++) {
    const byte = csv[i] ?? 0
    if (byte < ZERO || byte > NINE) break
    value = value * 10 + (byte - ZERO)
  }
  return i === at || (csv[i] !== COMMA && i < csv.length && csv[i] !== 0x0a) ? Number.NaN : value
}
