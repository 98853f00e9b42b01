import { fieldEnd } from '../drivers/haproxy/stats-csv.ts'

/** The meaning of a column of HAProxy's answer for clients that follow figures. */
export const [UNUSED, USED, PASSING] = [0, 1, 2] as const

const [COMMA, LINE, QUOTE, ZERO] = [0x2c, 0x0a, 0x22, 0x30] as const

/**
 * Whether a row is the same as a second before in the columns that are used; a passing column may have grown. Thousands
 * of rows are compared each second: nothing is allocated, and most bytes are read once.
 */
export function isSameRow(
  now: Uint8Array,
  start: number,
  before: Uint8Array,
  startBefore: number,
  uses: Uint8Array,
): boolean {
  let [at, old] = [start, startBefore]
  for (let column = 0; column < uses.length; column++) {
    const [field, fieldBefore] = [at, old]
    if (now[at] !== QUOTE)
      while (now[at] === before[old] && now[at] !== COMMA && now[at] !== LINE && at < now.length) {
        at++
        old++
      }
    if (now[at] !== before[old] || now[at] === QUOTE) {
      ;[at, old] = [fieldEnd(now, field), fieldEnd(before, fieldBefore)]
      const use = uses[column]
      if (use === USED && !isSame(now, field, at, before, fieldBefore, old)) return false
      if (use === PASSING && numberIn(now, field, at) < numberIn(before, fieldBefore, old)) return false
    }
    // The row and its last field end with the same comma or line break.
    at++
    old++
  }
  return true
}

function isSame(now: Uint8Array, from: number, to: number, before: Uint8Array, old: number, oldTo: number): boolean {
  if (to - from !== oldTo - old) return false
  for (let i = 0; i < to - from; i++) if (now[from + i] !== before[old + i]) return false
  return true
}

function numberIn(bytes: Uint8Array, from: number, to: number): number {
  let value = 0
  for (let i = from; i < to; i++) value = value * 10 + (bytes[i] ?? 0) - ZERO
  return value
}
