import { fsyncSync, mkdirSync, openSync, closeSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Journal } from './journal.ts'
import type { LogRow } from './row.ts'
import { encodeSegment, Segment } from './segment.ts'

/** Rows of a segment: more pack better, and keep a start and a search in one segment longer. */
export const SEGMENT_ROWS = 65_536
/** A segment that fills slowly is closed after so long, so that its age is known well enough. */
const SEGMENT_AGE_MS = 3_600_000
/** Size of a journal without rows. */
const EMPTY_BYTES_MAX = 1024 * 1024

export interface LogLimits {
  /** Size of the closed segments. */
  readonly bytes_max: number
  readonly age_ms: number
}

const nameOf = (number: number, ending: string) => `${String(number).padStart(12, '0')}.${ending}`
const NAME = /^(\d{12})\.(segment|journal)$/

/**
 * The access log of a node: closed segments, and a journal whose rows are in memory as well. The one writer. Segments
 * count up and are never used again, so a row keeps its place.
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
  /** The disk has refused a flush of the journal, so only memory certainly has its lines. */
  #isDoubtful = false
  /** As it was given with the last rows that are stored. */
  readonly seen: unknown
  /** What was found damaged, and is left out. */
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
   * The daemon ended between the next journal and the end of this one, or the disk did not take its segment then. It
   * goes when a segment that can be read has its rows. Answers what was last seen.
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

  /** The rows that no closed segment holds yet, and the number of theirs. */
  get open(): { readonly number: number; readonly rows: readonly LogRow[] } {
    return { number: this.#number, rows: this.#rows }
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, this.#journal.length)
  }

  /** Throws when the rows are not stored; then none of them is. Afterwards kill -9 takes nothing of them away. */
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

  /** Closes the segment when it is full or old, or its journal in doubt. Throws when the disk is full. */
  tidy(now_ms: number, seen: unknown): void {
    const first = this.#rows[0]
    const isOld = first !== undefined && now_ms - first.at_ms > SEGMENT_AGE_MS
    if (this.#rows.length >= this.#rowsMax || isOld || this.#isDoubtful) this.#close(seen)
    // Where all lines go elsewhere, only what was seen comes.
    else if (first === undefined && this.#journal.length > EMPTY_BYTES_MAX) this.#close(seen)
  }

  #close(seen: unknown): void {
    const [number, journal] = [this.#number, this.#journal]
    const isEmpty = this.#rows.length === 0
    if (!isEmpty) this.#draft(number, this.#rows)
    // The next journal first: what was seen must not go with the old one.
    const next = new Journal(this.#path(number + 1, 'journal'))
    try {
      next.append({ rows: [], seen })
      if (!isEmpty) this.#adopt(number)
    } catch (error) {
      // This one goes on, and a start must not believe what the next one says of it.
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
      // More rows come to the journal, and a start would take them for stored.
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
   * Removes what is beyond the limits, the oldest first. It needs no room, so that a full disk gets some by it; what
   * cannot be removed is tried the next time. Nothing is old while nobody knows the time.
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
