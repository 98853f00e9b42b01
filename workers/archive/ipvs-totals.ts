import { COLUMN, COLUMNS, OUTBOUND, type IpvsPlan, rowsOf } from '../../src/ipvs/names.ts'
import { TOTAL_COUNT } from '../../src/ipvs/protocol.ts'
import { type IpvsPlaces, NO_ROW } from './ipvs-places.ts'

/** Index of the first total, in the order of `STATS`. */
const FIRST = COLUMN.countedConnections

/**
 * Traffic of each object since this run began. Unlike the sums of the table it never falls: an entry that disappears
 * subtracts nothing, and one that returns adds nothing.
 */
export class IpvsTotals {
  readonly #places: IpvsPlaces
  #plan: IpvsPlan | undefined
  #rows: ReadonlyMap<string, number> = new Map()
  /** Totals by row. */
  #totals = new Float64Array(0)

  constructor(places: IpvsPlaces) {
    this.#places = places
  }

  /** Adds the increments of a reading, and writes the totals into the figures of the objects. */
  add(increments: Float64Array, figures: Float64Array): void {
    this.#followPlan()
    const { serviceRows, destRows, ownerRows, outbound } = this.#places
    const services = serviceRows.length
    for (let service = 0; service < services; service++) this.#addTo(serviceRows[service], increments, service)
    for (let dest = 0; dest < destRows.length; dest++) {
      const row = destRows[dest] ?? NO_ROW
      this.#addTo(row, increments, services + dest)
      this.#addTo(ownerRows[row], increments, services + dest)
    }
    for (let row = 0; row < ownerRows.length; row++) {
      const at = row * COLUMNS
      for (let column = 0; column < TOTAL_COUNT; column++)
        figures[at + FIRST + column] = this.#totals[row * TOTAL_COUNT + column] ?? 0
      if (outbound[row] !== true) for (const column of OUTBOUND) figures[at + column] = Number.NaN
    }
  }

  /** Runs for every entry of the table, every two seconds. */
  #addTo(row: number | undefined, increments: Float64Array, entry: number): void {
    if (row === undefined || row === NO_ROW) return
    for (let column = 0; column < TOTAL_COUNT; column++) {
      const increment = increments[entry * TOTAL_COUNT + column] ?? 0
      const at = row * TOTAL_COUNT + column
      // Unknown increments are left out.
      if (increment > 0) this.#totals[at] = (this.#totals[at] ?? 0) + increment
    }
  }

  #followPlan(): void {
    const { plan } = this.#places
    if (plan === this.#plan) return
    this.#plan = plan
    const before = { rows: this.#rows, totals: this.#totals }
    this.#rows = rowsOf(plan, (...names) => names.join('\0'))
    this.#totals = new Float64Array(this.#rows.size * TOTAL_COUNT)
    for (const [key, row] of this.#rows) {
      const place = before.rows.get(key)
      if (place !== undefined)
        this.#totals.set(before.totals.subarray(place * TOTAL_COUNT, (place + 1) * TOTAL_COUNT), row * TOTAL_COUNT)
    }
  }
}
