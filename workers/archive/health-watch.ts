import { fieldEnd, fieldText } from '../../src/drivers/haproxy/stats-csv.ts'
import type { Absorbed } from './collector.ts'
import type { HealthChange } from './messages.ts'

const [U, P, D, O] = Buffer.from('UPDO')
/** Exit codes of a check that has none, and of a program that never ran. */
const NO_CODE: ReadonlySet<string> = new Set(['', '0', '4294967295'])

/**
 * Notices servers that go up or down. A server in maintenance, or without a check, has no health; what it had before
 * counts until it has one again.
 */
export class HealthWatch {
  /** Health by number of the object. */
  #known = new Map<number, boolean>()

  /** Since the last call; undefined when nothing changed. */
  changes({ csv, header, starts, statuses, objects }: Absorbed): readonly HealthChange[] | undefined {
    let changes: HealthChange[] | undefined
    for (let row = 0; row < objects.length; row++) {
      const object = objects[row]
      if (object?.kind !== 'server') continue
      const up = healthAt(csv, statuses[row] ?? 0)
      if (up === undefined || this.#known.get(object.id) === up) continue
      const isNews = this.#known.has(object.id)
      this.#known.set(object.id, up)
      if (!isNews) continue
      const at = starts[row + 1] ?? 0
      const reason = reasonAt(csv, at, header.columns)
      changes ??= []
      changes.push({ backend: object.backend, server: object.name, up, reason })
    }
    return changes
  }
}

/** What a check says of its last result: its kind, a code, and its own words or those that HAProxy has for the kind. */
function reasonAt(bytes: Uint8Array, start: number, columns: ReadonlyMap<string, number>): string {
  const text = (name: string) => columnText(bytes, start, columns.get(name))
  const code = text('check_code')
  // While the next check is under way, HAProxy puts a star before the result of the last one.
  const status = text('check_status').replace(/^\* /, '')
  const words = [status, NO_CODE.has(code) ? '' : code, text('last_chk') || text('check_desc')]
  return words.filter((word) => word !== '').join(' ')
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
