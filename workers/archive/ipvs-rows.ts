import { COLUMN, COLUMNS, OUTBOUND } from '../../src/ipvs/names.ts'
import { STATS_COUNT } from '../../src/ipvs/protocol.ts'
import { DEST_FIGURES, FIGURE, type IpvsTable } from '../../src/ipvs/table.ts'
import { type IpvsPlaces, NO_ROW } from './ipvs-places.ts'

/**
 * Sums the figures of each object's entries. NaN where it has none, or where the traffic does not pass through here.
 */
export function ipvsRows(table: IpvsTable, places: IpvsPlaces): Float64Array<ArrayBuffer> {
  // A new array each time, because it is moved to the main thread.
  const rows = new Float64Array(places.rowCount * COLUMNS).fill(Number.NaN)
  for (let row = 0; row < places.rowCount; row++) {
    rows[row * COLUMNS + COLUMN.services] = places.serviceCounts[row] ?? 0
    rows[row * COLUMNS + COLUMN.dests] = 0
  }
  for (let service = 0; service < table.services.count; service++) addService(rows, table, places, service)
  for (let dest = 0; dest < table.dests.count; dest++) {
    const row = places.destRows[dest] ?? NO_ROW
    if (row === NO_ROW) continue
    addDest(rows, row, table, dest)
    addDest(rows, places.ownerRows[row] ?? NO_ROW, table, dest)
    // The weight is the same in every service, except during a change.
    rows[row * COLUMNS + COLUMN.weight] = table.dests.figures[dest * DEST_FIGURES + FIGURE.weight] ?? Number.NaN
  }
  for (let row = 0; row < places.rowCount; row++) {
    if (places.outbound[row] !== true) for (const column of OUTBOUND) rows[row * COLUMNS + column] = Number.NaN
  }
  return rows
}

/** Adds the service's own counters and its destinations' connections to its frontend. */
function addService(rows: Float64Array, table: IpvsTable, places: IpvsPlaces, service: number): void {
  const row = places.serviceRows[service] ?? NO_ROW
  if (row === NO_ROW) return
  addStats(rows, row, table.services.stats, service)
  count(rows, row, COLUMN.services)
  const to = table.destStart[service + 1] ?? 0
  for (let dest = table.destStart[service] ?? 0; dest < to; dest++) {
    addConnections(rows, row, table, dest)
    count(rows, row, COLUMN.dests)
  }
}

function addDest(rows: Float64Array, row: number, table: IpvsTable, dest: number): void {
  if (row === NO_ROW) return
  addStats(rows, row, table.dests.stats, dest)
  addConnections(rows, row, table, dest)
  count(rows, row, COLUMN.dests)
}

function add(rows: Float64Array, at: number, value: number): void {
  const before = rows[at] ?? 0
  rows[at] = before === before ? before + value : value
}

function addStats(rows: Float64Array, row: number, stats: Float64Array, entry: number): void {
  for (let column = 0; column < STATS_COUNT; column++)
    add(rows, row * COLUMNS + column, stats[entry * STATS_COUNT + column] ?? Number.NaN)
}

function addConnections(rows: Float64Array, row: number, table: IpvsTable, dest: number): void {
  const at = dest * DEST_FIGURES
  const { figures } = table.dests
  add(rows, row * COLUMNS + COLUMN.activeConnections, figures[at + FIGURE.active] ?? Number.NaN)
  add(rows, row * COLUMNS + COLUMN.inactiveConnections, figures[at + FIGURE.inactive] ?? Number.NaN)
  add(rows, row * COLUMNS + COLUMN.persistentConnections, figures[at + FIGURE.persistent] ?? Number.NaN)
}

function count(rows: Float64Array, row: number, column: number): void {
  rows[row * COLUMNS + column] = (rows[row * COLUMNS + column] ?? 0) + 1
}
