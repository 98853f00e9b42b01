import { existsSync, readFileSync } from 'node:fs'
import { type ChainHead, firstOf, segmentsIn, unchained } from './segments.ts'

/**
 * Every sign that the audit log was tampered with, as sentences; [] when it is whole. `known` is how far the chain was when
 * somebody else took note of it: the log may have gone on, it cannot end before.
 */
export function checkAudit(folder: string, known: ChainHead | undefined): readonly string[] {
  if (!existsSync(folder)) return known === undefined ? [] : ['the audit log is gone']
  const problems: string[] = []
  let before: ChainHead | undefined
  let isKnown = known === undefined
  let next: number | undefined
  for (const path of segmentsIn(folder)) {
    const first = firstOf(path)
    if (next !== undefined && first > next) problems.push(`${path}: the entries from ${next} to ${first - 1} are gone`)
    next = first
    const text = readFileSync(path, 'utf8')
    // A line without its newline is what a crash left; the next start takes it off.
    for (const [index, line] of text.split('\n').slice(0, -1).entries()) {
      const entry = unchained(line)
      if (entry === undefined) {
        problems.push(`${path}:${index + 1}: the line was changed`)
        before = undefined
        continue
      }
      if (before !== undefined && (entry.prev !== before.hash || entry.seq !== before.seq + 1)) {
        problems.push(`${path}:${index + 1}: lines before entry ${entry.seq} were taken out or put in`)
      }
      before = { seq: entry.seq, hash: entry.hash }
      next = entry.seq + 1
      if (entry.seq === known?.seq && entry.hash === known.hash) isKnown = true
    }
  }
  if (!isKnown) problems.push(`${folder}: the entries up to ${known?.seq} are not those that were written`)
  return problems
}
