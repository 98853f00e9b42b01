import { readFileSync } from 'node:fs'
import { AUDIT_ANSWER_BYTES_MAX } from '../limits.ts'
import { type AuditEntry, segmentsIn, unchained } from './segments.ts'

export interface AuditQuery {
  readonly limit: number
  /** Entries with smaller numbers only. */
  readonly before?: number | undefined
  /** ISO 8601, inclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Fields that must be equal, as text. */
  readonly equal?: Readonly<Record<string, string>> | undefined
  /** Text that the line holds, whatever its case. */
  readonly text?: string | undefined
}

/** Entries that fit, newest first: as many as are wanted, or as an answer may hold. */
export function searchAudit(folder: string, query: AuditQuery): readonly AuditEntry[] {
  const found: AuditEntry[] = []
  const mayFit = lookingFor(query)
  let length = 0
  for (const path of segmentsIn(folder).toReversed()) {
    for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1).toReversed()) {
      if (!mayFit(line)) continue
      const entry = unchained(line)
      if (entry === undefined || !fits(entry, query)) continue
      const { prev: _, ...shown } = entry
      found.push(shown)
      length += line.length
      if (found.length >= query.limit || length >= AUDIT_ANSWER_BYTES_MAX) return found
    }
  }
  return found
}

/** A look at the text of a line, which costs far less than taking it apart. */
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
