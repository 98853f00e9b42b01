import { fieldEnd, fieldText } from '../../src/drivers/haproxy/stats-csv.ts'
import type { Absorbed } from './collector.ts'
import type { HealthChange } from './messages.ts'

const [U, P, D, O] = Buffer.from('UPDO')
/** A check's own words about its last result, where HAProxy has them. */
const REASON_COLUMNS = ['check_status', 'check_code', 'last_chk'] as const
/** Of a check that has no code of its own, or did not come to one: no check was passed with it, or the program could not run. */
const NO_CODE: ReadonlySet<string> = new Set(['', '0', '4294967295'])

/**
 * Notices servers that go up or down. A server in maintenance, or without a check, has no health; what it had before counts
 * until it has one again.
 */
export class HealthWatch {
  /** By number of the object. */
  #known = new Map<number, boolean>()

  /** Since the last call; undefined when nothing changed. */
  changes(bytes: Uint8Array, { header, starts, statuses, objects }: Absorbed): readonly HealthChange[] | undefined {
    let changes: HealthChange[] | undefined
    for (let row = 0; row < objects.length; row++) {
      const object = objects[row]
      if (object?.kind !== 'server') continue
      const up = healthAt(bytes, statuses[row] ?? 0)
      if (up === undefined || this.#known.get(object.id) === up) continue
      const isNews = this.#known.has(object.id)
      this.#known.set(object.id, up)
      if (!isNews) continue
      const at = starts[row + 1] ?? 0
      const reason = reasonAt(bytes, at, header.columns)
      changes ??= []
      changes.push({ backend: object.backend, server: object.name, up, reason })
    }
    return changes
  }
}

function reasonAt(bytes: Uint8Array, start: number, columns: ReadonlyMap<string, number>): string {
  const words = REASON_COLUMNS.map((name) => columnText(bytes, start, columns.get(name)))
  return words
    .filter((word, index) => REASON_COLUMNS[index] !== 'check_code' || !NO_CODE.has(word))
    .join(' ')
    .trim()
}

/** `UP`, `UP 1/2`, `DOWN`, `DOWN 1/2`, …; undefined for everything else, such as `MAINT` and `no check`. */
function healthAt(bytes: Uint8Array, at: number): boolean | undefined {
  if (bytes[at] === U && bytes[at + 1] === P) return true
  return bytes[at] === D && bytes[at + 1] === O ? false : undefined
}

function columnText(bytes: Uint8Array, start: number, column: number | undefined): string {
  if (column === undefined) return ''
  let at = start
  for (let passed = 0; passed < column; passed++) at = fieldEnd(bytes, at) + 1
  return fieldText(bytes, at)
}
