import { fieldEnd, fieldText } from '../../src/drivers/haproxy/stats-csv.ts'
import type { Absorbed } from './collector.ts'
import type { HealthChange } from './messages.ts'

const [U, P, D, O] = Buffer.from('UPDO')
/** Exit codes of a check that has none, and of a program that never ran. */
const NO_CODE: ReadonlySet<string> = new Set(['', '0', '4294967295'])

/**
 * Notices servers that go up or down. A server in maintenance, or without a check, has no health; its previous health
 * counts until it has one again.
 */
export class HealthWatch {
  /** Health by object number. */
  #known = new Map<number, boolean>()

  /** Returns the changes since the last call; undefined if there were none. */
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

/** Describes the last result of a check: its kind, its code, and its own text or else HAProxy's text for the kind. */
function reasonAt(bytes: Uint8Array, start: number, columns: ReadonlyMap<string, number>): string {
  const text = (name: string) => columnText(bytes, start, columns.get(name))
  const code = text('check_code')
  // While the next check is running, HAProxy puts an asterisk before the last result.
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
