import { readFileSync } from 'node:fs'
import { AUDIT_ANSWER_BYTES_MAX } from '../limits.ts'
import { type AuditEntry, firstOf, segmentsIn, unchain } from './segments.ts'

export interface AuditQuery {
  readonly limit: number
  /** Only entries with smaller numbers. */
  readonly before?: number | undefined
  /** ISO 8601, inclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Fields that must be equal, as text. */
  readonly equal?: Readonly<Record<string, string>> | undefined
  /** Text that the line contains, ignoring case. */
  readonly text?: string | undefined
}

/** Progress of a search. */
export interface AuditSearched {
  /** Newest first. */
  readonly found: readonly AuditEntry[]
  /** Characters of everything found so far. */
  readonly length: number
  /** The search continues in files with smaller numbers; undefined when it is complete. */
  readonly below: number | undefined
}

export const SEARCH_BEGUN: AuditSearched = { found: [], length: 0, below: Number.MAX_SAFE_INTEGER }

/**
 * Searches the next file, newest first: some 20 ms of work, so that several searches take turns. Finds as many entries
 * as are wanted, or as an answer may hold.
 */
export function searchAudit(folder: string, query: AuditQuery, { length, below = 0 }: AuditSearched): AuditSearched {
  const beyond = Math.min(below, query.before ?? below)
  const path = segmentsIn(folder).findLast((segment) => firstOf(segment) < beyond)
  if (path === undefined) return { found: [], length, below: undefined }
  const found: AuditEntry[] = []
  const mayFit = lookingFor(query)
  let all = length
  for (const line of linesOf(path).toReversed()) {
    if (!mayFit(line)) continue
    const entry = unchain(line)
    if (entry === undefined || !fits(entry, query)) continue
    const { prev: _, ...shown } = entry
    found.push(shown)
    all += line.length
    if (found.length >= query.limit || all >= AUDIT_ANSWER_BYTES_MAX) return { found, length: all, below: undefined }
  }
  return { found, length: all, below: firstOf(path) }
}

/** Returns no lines if the file was removed since the folder was read. */
function linesOf(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(0, -1)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

/** Tests the text of a line, which costs far less than parsing it. */
function lookingFor({ text, equal = {} }: AuditQuery): (line: string) => boolean {
  const wanted = text?.toLowerCase()
  const fields = Object.entries(equal).map(([field, value]) => `${JSON.stringify(field)}:${JSON.stringify(value)}`)
  return (line) =>
    fields.every((field) => line.includes(field)) && (wanted === undefined || line.toLowerCase().includes(wanted))
}

function fits(entry: AuditEntry, { before, from, to, equal = {} }: AuditQuery): boolean {
  if (before !== undefined && entry.seq >= before) return false
  if ((from !== undefined && entry.at < from) || (to !== undefined && entry.at.slice(0, to.length) > to)) return false
  return Object.entries(equal).every(([field, value]) => entry[field] === value)
}
