import { fsyncSync, mkdirSync, openSync, closeSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Journal } from './journal.ts'
import type { LogRow } from './row.ts'
import { encodeSegment, Segment } from './segment.ts'

/** Rows of a segment: more rows pack better, but slow down a start, and a search within one segment. */
export const SEGMENT_ROWS = 65_536
/** A segment that fills slowly is closed after this time, so that its rows have about the same age. */
const SEGMENT_AGE_MS = 3_600_000
/** Maximum size of a journal without rows. */
const EMPTY_BYTES_MAX = 1024 * 1024

export interface LogLimits {
  /** Maximum size of the closed segments and the journal. */
  readonly bytes_max: number
  readonly age_ms: number
}

const nameOf = (number: number, ending: string) => `${String(number).padStart(12, '0')}.${ending}`
const NAME = /^(\d{12})\.(segment|journal)$/

/**
 * The access log of a node: closed segments, and a journal whose rows are in memory as well. The one writer. Segment
 * numbers increase and are never reused, so a row keeps its place.
 */
export class LogStore {
  readonly #folder: string
  readonly #limits: LogLimits
  readonly #rowsMax: number
  #segments: Segment[] = []
  #journal: Journal
  #number: number
  #rows: LogRow[] = []
  #isSyncing = false
  /** The disk has refused a flush of the journal, so only memory is certain to have its lines. */
  #isDoubtful = false
  /** The state that was stored with the last rows. */
  readonly seen: unknown
  /** Damaged parts, which are left out. */
  readonly damage: readonly string[]

  constructor(folder: string, limits: LogLimits, rowsMax = SEGMENT_ROWS) {
    this.#folder = folder
    this.#limits = limits
    this.#rowsMax = rowsMax
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const damage: string[] = []
    const [closed, open] = [this.#found('segment'), this.#found('journal')]
    for (const number of closed) {
      try {
        this.#segments.push(new Segment(number, this.#path(number, 'segment')))
      } catch (error) {
        damage.push(`segment ${number}: ${String(error)}`)
      }
    }
    this.#number = Math.max((closed.at(-1) ?? 0) + 1, open.at(-1) ?? 0)
    let seen: unknown
    for (const number of open) {
      try {
        if (number !== this.#number) seen = this.#finish(number)
      } catch (error) {
        damage.push(`journal ${number}: ${String(error)}`)
      }
    }
    this.#segments.sort((one, other) => one.number - other.number)
    this.#journal = new Journal(this.#path(this.#number, 'journal'))
    this.#rows = this.#journal.blocks.flatMap(({ rows }) => rows)
    const last = this.#journal.blocks.at(-1)
    this.seen = last === undefined ? seen : last.seen
    if (this.#journal.torn_bytes > 0) damage.push(`${this.#journal.torn_bytes} bytes of the last write`)
    this.damage = damage
    this.expire(undefined)
  }

  /**
   * Closes a journal that was left behind: the daemon ended after creating the next one, or the disk did not accept its
   * segment then. The journal is removed once a readable segment has its rows. Returns its last `seen`.
   */
  #finish(number: number): unknown {
    const journal = new Journal(this.#path(number, 'journal'))
    journal.close()
    const rows = journal.blocks.flatMap((block) => block.rows)
    if (rows.length > 0 && !this.#segments.some((segment) => segment.number === number)) {
      this.#draft(number, rows)
      this.#adopt(number)
    }
    rmSync(this.#path(number, 'journal'))
    return journal.blocks.at(-1)?.seen
  }

  #found(ending: string): readonly number[] {
    const found = readdirSync(this.#folder).flatMap((name) => {
      const [, number, kind] = NAME.exec(name) ?? []
      return kind === ending ? [Number(number)] : []
    })
    return found.toSorted((one, other) => one - other)
  }

  #path(number: number, ending: string): string {
    return join(this.#folder, nameOf(number, ending))
  }

  /** Closed segments, oldest first. */
  get segments(): readonly Segment[] {
    return this.#segments
  }

  /** The rows that are in no closed segment yet, and the number of their segment. */
  get open(): { readonly number: number; readonly rows: readonly LogRow[] } {
    return { number: this.#number, rows: this.#rows }
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, this.#journal.length)
  }

  /** Throws when the rows are not stored; then none of them is. Stored rows survive kill -9. */
  append(rows: readonly LogRow[], seen: unknown): void {
    this.#journal.append({ rows, seen })
    for (const row of rows) this.#rows.push(row)
    this.#sync()
  }

  #sync(): void {
    if (this.#isSyncing) return
    this.#isSyncing = true
    const journal = this.#journal
    journal.sync((error) => {
      this.#isSyncing = false
      // The kernel reports the error once, and then considers the lost pages written.
      if (error !== null && journal === this.#journal) this.#isDoubtful = true
    })
  }

  /** Closes the segment when it is full or old, or its journal is in doubt. Throws when the disk is full. */
  tidy(now_ms: number, seen: unknown): void {
    const first = this.#rows[0]
    const isOld = first !== undefined && now_ms - first.at_ms > SEGMENT_AGE_MS
    if (this.#rows.length >= this.#rowsMax || isOld || this.#isDoubtful) this.#close(seen)
    // Where all lines are only forwarded, the journal grows without rows.
    else if (first === undefined && this.#journal.length > EMPTY_BYTES_MAX) this.#close(seen)
  }

  #close(seen: unknown): void {
    const [number, journal] = [this.#number, this.#journal]
    const isEmpty = this.#rows.length === 0
    if (!isEmpty) this.#draft(number, this.#rows)
    // The next journal comes first: `seen` must not be lost with the old one.
    const next = new Journal(this.#path(number + 1, 'journal'))
    try {
      next.append({ rows: [], seen })
      if (!isEmpty) this.#adopt(number)
    } catch (error) {
      // The old journal stays in use, and a start must not read the next one's `seen`.
      next.close()
      rmSync(this.#path(number + 1, 'journal'))
      throw error
    }
    this.#journal = next
    this.#isDoubtful = false
    this.#number++
    this.#rows = []
    journal.close()
    rmSync(this.#path(number, 'journal'))
  }

  #draft(number: number, rows: readonly LogRow[]): void {
    const draft = this.#path(number, 'segment.new')
    try {
      writeFileSync(draft, encodeSegment(rows), { mode: 0o600, flush: true })
    } catch (error) {
      rmSync(draft, { force: true })
      throw error
    }
  }

  #adopt(number: number): void {
    const path = this.#path(number, 'segment')
    renameSync(this.#path(number, 'segment.new'), path)
    try {
      this.#syncFolder()
      this.#segments.push(new Segment(number, path))
    } catch (error) {
      // More rows will be appended to the journal, and a start would consider them stored.
      rmSync(path)
      throw error
    }
  }

  #syncFolder(): void {
    const folder = openSync(this.#folder, 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  }

  /**
   * Removes what exceeds the limits, oldest first. Needs no room, so that it frees some on a full disk; files that
   * cannot be removed are retried next time. Nothing expires by age while the time is unknown.
   */
  expire(now_ms: number | undefined): void {
    const oldest_ms = (now_ms ?? -Infinity) - this.#limits.age_ms
    let surplus = this.bytes - this.#limits.bytes_max
    this.#segments = this.#segments.filter(({ head, path, bytes }) => {
      if (surplus <= 0 && head.to_ms >= oldest_ms) return true
      try {
        rmSync(path, { force: true })
      } catch {
        return true
      }
      surplus -= bytes
      return false
    })
  }

  close(): void {
    this.#journal.close()
  }
}
