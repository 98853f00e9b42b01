/**
 * Reads the CSV answer of `show stat` as bytes. Columns are found by the names in the header, because each HAProxy
 * version adds some. Nothing is split and no string is made here: with 20,000 objects the answer has 5 MB, every
 * second.
 */
export const FRONTEND_ROW = 0
export const BACKEND_ROW = 1
export const SERVER_ROW = 2

/** Returns the kind of a row, by HAProxy's type number. */
export const kindOf = (type: number): 'frontend' | 'backend' | 'server' =>
  type === FRONTEND_ROW ? 'frontend' : type === BACKEND_ROW ? 'backend' : 'server'

/**
 * The columns stored by the archive, in its order. Several columns are added up where no type of object has all of
 * them. The first four exist in every version, and for every type.
 */
export const STORED_COLUMNS: readonly (readonly string[])[] = [
  ['scur'],
  ['stot'],
  ['bin'],
  ['bout'],
  ['req_tot'],
  ['hrsp_1xx'],
  ['hrsp_2xx'],
  ['hrsp_3xx'],
  ['hrsp_4xx'],
  ['hrsp_5xx'],
  ['ereq', 'econ', 'eresp'],
  ['qcur'],
  ['rtime'],
  ['ctime'],
  ['ttime'],
]
export const STORED_COUNT = STORED_COLUMNS.length
const NEEDED_COUNT = 4
/** Index of the first value that comes from several columns. */
const ADDED = STORED_COLUMNS.findIndex((columns) => columns.length > 1)

const COMMA = 0x2c
const QUOTE = 0x22
const LINE = 0x0a
const HASH = 0x23
const ZERO = 0x30
const HEADER_START = '# pxname,svname,'

export interface StatHeader {
  /** Column index by name. */
  readonly columns: ReadonlyMap<string, number>
  /** Offset of the header row and of the row after it. */
  readonly start: number
  readonly end: number
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()
const headerStart = encoder.encode(HEADER_START)

function matches(bytes: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return false
  return true
}

/** Finds the header row at or after `from`; `undefined` when there is none. */
export function findHeader(bytes: Uint8Array, from = 0): StatHeader | undefined {
  let start = from
  while (start < bytes.length && !matches(bytes, start, headerStart)) {
    const line = bytes.indexOf(LINE, start)
    if (line < 0) return undefined
    start = line + 1
  }
  const line = bytes.indexOf(LINE, start)
  if (line < 0) return undefined
  const names = decoder.decode(bytes.subarray(start + 2, line)).split(',')
  return { columns: new Map(names.map((name, index) => [name, index])), start, end: line + 1 }
}

/** Returns the position after the field that starts at `at`: at the comma or line end after it. */
export function fieldEnd(bytes: Uint8Array, at: number): number {
  let i = at
  if (bytes[i] === QUOTE) {
    // Quotes within a quoted field are doubled.
    for (i++; i < bytes.length; i++) {
      if (bytes[i] !== QUOTE) continue
      if (bytes[i + 1] === QUOTE) i++
      else return i + 1
    }
    return i
  }
  while (i < bytes.length && bytes[i] !== COMMA && bytes[i] !== LINE) i++
  return i
}

/** Returns the text of the field at `at`, unquoted. */
export function fieldText(bytes: Uint8Array, at: number): string {
  const text = decoder.decode(bytes.subarray(at, fieldEnd(bytes, at)))
  return text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text
}

/**
 * The rows that count: where each begins, where its second field (svname) ends, where its status is (0: none), and its
 * values. Arrays are reused by the next scan.
 */
export interface StatRows {
  count: number
  starts: Uint32Array
  nameEnds: Uint32Array
  statuses: Uint32Array
  kinds: Uint8Array
  /** STORED_COUNT values per row; NaN where HAProxy leaves the column empty; only the low bits from 2^53 on. */
  values: Float64Array
}

export function createStatRows(): StatRows {
  return {
    count: 0,
    starts: new Uint32Array(256),
    nameEnds: new Uint32Array(256),
    statuses: new Uint32Array(256),
    kinds: new Uint8Array(256),
    values: new Float64Array(256 * STORED_COUNT),
  }
}

function grow(rows: StatRows): void {
  const size = rows.starts.length * 2
  const { starts, nameEnds, statuses, kinds, values } = rows
  rows.starts = new Uint32Array(size)
  rows.starts.set(starts)
  rows.nameEnds = new Uint32Array(size)
  rows.nameEnds.set(nameEnds)
  rows.statuses = new Uint32Array(size)
  rows.statuses.set(statuses)
  rows.kinds = new Uint8Array(size)
  rows.kinds.set(kinds)
  rows.values = new Float64Array(size * STORED_COUNT)
  rows.values.set(values)
}

function parseNumber(bytes: Uint8Array, from: number, to: number): number {
  if (from === to) return Number.NaN
  let value = 0
  for (let i = from; i < to; i++) {
    const digit = (bytes[i] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return Number.NaN
    value = value * 10 + digit
  }
  return value <= Number.MAX_SAFE_INTEGER ? value : lowBits(bytes, from, to)
}

/**
 * Returns the low bits of a counter that exceeds exact numbers: it continues from 0, and all but one of its increments
 * are exact.
 */
const lowBits = (bytes: Uint8Array, from: number, to: number): number =>
  Number(BigInt.asUintN(EXACT_BITS, BigInt(decoder.decode(bytes.subarray(from, to)))))
const EXACT_BITS = 53

/** The columns of one header version, prepared for the scan. */
interface ScanPlan {
  /** Per column: index of the stored value, TYPE, STATUS, NUMBER, or SKIP. */
  readonly roles: Int8Array
  /** Columns after this one are skipped together. */
  readonly last: number
}

const SKIP = -1
const TYPE = STORED_COUNT
const STATUS = STORED_COUNT + 1
const NUMBER = STORED_COUNT + 2

function planScan(header: StatHeader): ScanPlan | undefined {
  const type = header.columns.get('type')
  const stored = STORED_COLUMNS.map((names) => names.flatMap((name) => header.columns.get(name) ?? []))
  const status = header.columns.get('status')
  if (type === undefined || stored.slice(0, NEEDED_COUNT).some(({ length }) => length === 0)) return undefined
  const number = header.columns.get('iid')
  const last = Math.max(type, status ?? 0, number ?? 0, ...stored.flat())
  const roles = new Int8Array(last + 1).fill(SKIP)
  for (const [index, columns] of stored.entries()) for (const column of columns) roles[column] = index
  roles[type] = TYPE
  if (status !== undefined) roles[status] = STATUS
  if (number !== undefined) roles[number] = NUMBER
  return { roles, last }
}

/**
 * Scans the whole answer. Returns the header, or `undefined` when the answer is incomplete (its end is missing, a row
 * is short) or no statistics: then nothing of it may be used.
 */
export function scanStats(bytes: Uint8Array, rows: StatRows, from = 0): StatHeader | undefined {
  rows.count = 0
  const length = bytes.length
  if (length < 2 || bytes[length - 1] !== LINE || bytes[length - 2] !== LINE) return undefined
  const header = findHeader(bytes, from)
  const plan = header === undefined ? undefined : planScan(header)
  if (header === undefined || plan === undefined) return undefined
  // Line breaks occur only inside quotes, which are rare: without any, the rest of a row is skipped natively.
  const quoted = bytes.includes(QUOTE, header.end)
  for (let at = header.end; at < length - 1;) {
    if (bytes[at] === LINE) return undefined
    const next = scanRow(bytes, at, rows, plan, quoted)
    if (next < 0) return undefined
    at = next
  }
  return header
}

function note(values: Float64Array, base: number, role: number, value: number): void {
  const before = role === ADDED ? (values[base + role] ?? Number.NaN) : Number.NaN
  values[base + role] = before === before ? before + value : value
}

/** Whether a line is no row, or one of HAProxy's own proxies, by their number (`iid`): anybody may call one MASTER. */
const isInternal = (bytes: Uint8Array, start: number, number: number): boolean =>
  bytes[start] === HASH || bytes[number] === ZERO

/** Scans one row; returns the start of the next, or -1 when the row is short. */
function scanRow(bytes: Uint8Array, start: number, rows: StatRows, plan: ScanPlan, quoted: boolean): number {
  if (rows.count === rows.starts.length) grow(rows)
  const { roles, last } = plan
  const base = rows.count * STORED_COUNT
  let at = start
  let kind = 255
  let number = -1
  rows.statuses[rows.count] = 0
  rows.values.fill(Number.NaN, base, base + STORED_COUNT)
  for (let column = 0; column <= last; column++) {
    const end = fieldEnd(bytes, at)
    if (column < last && bytes[end] !== COMMA) return -1
    const role = roles[column] ?? SKIP
    if (role === TYPE) kind = parseNumber(bytes, at, end)
    else if (role === STATUS) rows.statuses[rows.count] = at
    else if (role === NUMBER) number = at
    else if (role !== SKIP && end > at) note(rows.values, base, role, parseNumber(bytes, at, end))
    if (column === 1) rows.nameEnds[rows.count] = end
    at = end + 1
  }
  if (kind <= SERVER_ROW && !isInternal(bytes, start, number)) {
    rows.starts[rows.count] = start
    rows.kinds[rows.count] = kind
    rows.count++
  }
  return rowEnd(bytes, at - 1, quoted)
}

/** Returns the start of the next row, from the end of a field. */
function rowEnd(bytes: Uint8Array, fieldEndAt: number, quoted: boolean): number {
  if (!quoted) {
    const line = bytes.indexOf(LINE, fieldEndAt)
    return line < 0 ? -1 : line + 1
  }
  let at = fieldEndAt
  while (at < bytes.length && bytes[at] !== LINE) at = fieldEnd(bytes, at + 1)
  return at < bytes.length ? at + 1 : -1
}
