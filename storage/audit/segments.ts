import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The audit log on the disk: files of lines, one JSON object each, named by the number of their first entry. Every line ends
 * with the hash of its own text, which holds the hash of the line before it: nothing in between can be changed, taken out or
 * put in without every later hash becoming wrong.
 */
export interface AuditEntry {
  /** Rises by one. */
  readonly seq: number
  /** ISO 8601. */
  readonly at: string
  readonly [field: string]: unknown
}

/** What the chain has come to. */
export interface ChainHead {
  readonly seq: number
  readonly hash: string
}

/** The same with where the kept entries begin, as somebody else takes note of it. */
export interface KnownChain extends ChainHead {
  /** Number of the oldest entry that is kept. */
  readonly first: number
}

/** Before the first entry. */
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

/** The line of an entry that follows `head`, without its newline. */
export function chained(entry: AuditEntry, head: ChainHead): { readonly line: string; readonly head: ChainHead } {
  const text = JSON.stringify({ ...entry, prev: head.hash })
  const hash = hashOf(text)
  return { line: `${text.slice(0, -1)},"hash":"${hash}"}`, head: { seq: entry.seq, hash } }
}

/** What a line says, when its own hash is right; undefined when somebody touched it. */
export function unchained(line: string): (AuditEntry & { readonly prev: string; readonly hash: string }) | undefined {
  const ending = ENDING.exec(line)
  const text = `${line.slice(0, -(ending?.[0].length ?? 0))}}`
  if (ending?.[1] === undefined || hashOf(text) !== ending[1]) return undefined
  return JSON.parse(line)
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
