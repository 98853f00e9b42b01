import { createHash } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The audit log on disk: files of lines, one JSON object each, named by the number of their first entry. Every line
 * ends with the hash of its own text, which includes the hash of the line before it: a change, removal or insertion
 * makes every later hash wrong.
 */
export interface AuditEntry {
  /** Increases by one per entry. */
  readonly seq: number
  /** ISO 8601. */
  readonly at: string
  readonly [field: string]: unknown
}

/** The position of the chain: its last entry. */
export interface ChainHead {
  readonly seq: number
  readonly hash: string
}

/** The position with the number of the oldest kept entry, for an independent record. */
export interface KnownChain extends ChainHead {
  /** Number of the oldest entry that is kept. */
  readonly first: number
}

/** The position before the first entry. */
export const GENESIS: ChainHead = { seq: 0, hash: '0'.repeat(64) }

const NAME = /^\d{12}\.jsonl$/

/** Paths of the segments, oldest first. */
export function segmentsIn(folder: string): readonly string[] {
  const names = readdirSync(folder).filter((name) => NAME.test(name))
  return names.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => join(folder, name))
}

export const segmentPath = (folder: string, first: number): string =>
  join(folder, `${String(first).padStart(12, '0')}.jsonl`)

/** Number of the first entry of a segment. */
export const firstOf = (path: string): number => Number(path.slice(-'000000000000.jsonl'.length, -'.jsonl'.length))

const ENDING = /,"hash":"([0-9a-f]{64})"\}$/

/** Returns the line of an entry that follows `head`, without its newline. */
export function chain(entry: AuditEntry, head: ChainHead): { readonly line: string; readonly head: ChainHead } {
  const text = JSON.stringify({ ...entry, prev: head.hash })
  const hash = hashOf(text)
  return { line: `${text.slice(0, -1)},"hash":"${hash}"}`, head: { seq: entry.seq, hash } }
}

/** Parses a line if its hash is right; undefined when it was changed. */
export function unchain(line: string): (AuditEntry & { readonly prev: string; readonly hash: string }) | undefined {
  const ending = ENDING.exec(line)
  const text = `${line.slice(0, -(ending?.[0].length ?? 0))}}`
  if (ending?.[1] === undefined || hashOf(text) !== ending[1]) return undefined
  return JSON.parse(line)
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

interface SegmentEnd {
  readonly head: ChainHead
  /** Time of the last entry. */
  readonly at: string
  readonly bytes: number
  readonly problem: string | undefined
}

/** Returns the end of the chain in a segment; a line that a crash left unfinished is zeroed, and so becomes room. */
export function lastOf(path: string): SegmentEnd | undefined {
  const content = readFileSync(path)
  const bytes = content.lastIndexOf(0x0a) + 1
  const behind = content.subarray(bytes)
  if (behind.some((byte) => byte !== 0)) {
    const file = openSync(path, 'r+')
    writeSync(file, new Uint8Array(behind.length), 0, behind.length, bytes)
    fsyncSync(file)
    closeSync(file)
  }
  const lines = content.subarray(0, bytes).toString().split('\n')
  for (let at = lines.length - 2; at >= 0; at--) {
    const entry = unchain(lines[at] ?? '')
    if (entry === undefined) continue
    const isLast = at === lines.length - 2
    const problem = isLast ? undefined : `${path}: ${lines.length - 2 - at} lines at its end are damaged`
    return { head: { seq: entry.seq + (lines.length - 2 - at), hash: entry.hash }, at: entry.at, bytes, problem }
  }
  return emptySegment(path, lines.length - 1)
}

/** Returns the end of the chain for a segment without an intact line, from the segment before it. */
function emptySegment(path: string, damaged: number): SegmentEnd | undefined {
  const folder = path.slice(0, path.lastIndexOf('/'))
  const before = segmentsIn(folder).findLast((segment) => segment < path)
  const found = before === undefined ? undefined : lastOf(before)
  const head = found?.head ?? GENESIS
  const problem = damaged === 0 ? found?.problem : `${path}: all of its lines are damaged`
  return { head: { seq: head.seq + damaged, hash: head.hash }, at: found?.at ?? '', bytes: 0, problem }
}
