import { existsSync, readFileSync } from 'node:fs'
import { type ChainHead, firstOf, GENESIS, type KnownChain, segmentsIn, unchain } from './segments.ts'

/**
 * Returns every sign of tampering with the audit log, as sentences; [] when it is intact. `known` is the chain's
 * position according to an independent record: the log may have gone on, but cannot end before it.
 */
export function checkAudit(folder: string, known: KnownChain | undefined): readonly string[] {
  if (!existsSync(folder)) return known === undefined ? [] : ['the audit log is missing']
  const chain = new ChainCheck(known)
  for (const path of segmentsIn(folder)) {
    chain.begin(path)
    // A crash leaves a line without a newline; the next start removes it.
    for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1)) chain.add(line)
  }
  if (!chain.isKnown) chain.problems.push(`${folder}: the entries up to ${known?.seq} were modified`)
  return chain.problems
}

/** Follows the chain line by line. */
class ChainCheck {
  readonly problems: string[] = []
  readonly #known: KnownChain | undefined
  /** Whether the known entry was found. */
  isKnown: boolean
  /** The previous entry; undefined at the beginning and after a changed line. */
  #before: ChainHead | undefined
  /** Expected number of the next entry. */
  #next: number | undefined
  #path = ''
  #line = 0

  constructor(known: KnownChain | undefined) {
    this.#known = known
    this.isKnown = known === undefined
    this.#next = known?.first
  }

  begin(path: string): void {
    const first = firstOf(path)
    if (this.#next !== undefined && first > this.#next) {
      this.problems.push(`${path}: the entries from ${this.#next} to ${first - 1} are missing`)
    }
    this.#next = first
    this.#path = path
    this.#line = 0
  }

  add(line: string): void {
    this.#line += 1
    const entry = unchain(line)
    if (entry === undefined) {
      this.problems.push(`${this.#path}:${this.#line}: the line was changed`)
      this.#before = undefined
      return
    }
    const { seq, hash, prev } = entry
    // A file is named after its first entry.
    const before =
      this.#before ??
      (this.#line === 1 ? { seq: firstOf(this.#path) - 1, hash: seq === 1 ? GENESIS.hash : prev } : undefined)
    if (before !== undefined && (prev !== before.hash || seq !== before.seq + 1)) {
      this.problems.push(`${this.#path}:${this.#line}: lines before entry ${seq} were removed or inserted`)
    }
    this.#before = { seq, hash }
    this.#next = seq + 1
    this.isKnown ||= seq === this.#known?.seq && hash === this.#known.hash
  }
}
