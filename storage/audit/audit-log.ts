import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, unlinkSync } from 'node:fs'
import {
  AUDIT_PACE,
  AUDIT_SEGMENT_BYTES_MAX,
  AUDIT_SEGMENTS_MAX,
  AUDIT_SHORT_SEGMENTS,
  AUDIT_YOUNG_SEGMENTS_MAX,
} from '../limits.ts'
import { Reserve } from './reserve.ts'
import {
  type AuditEntry,
  chain,
  type ChainHead,
  firstOf,
  GENESIS,
  type KnownChain,
  lastOf,
  segmentPath,
  segmentsIn,
} from './segments.ts'
import { SegmentFile } from './segment-file.ts'
import { AuditShares } from './shares.ts'

/** Room for the largest entry and a few that were begun before it. */
const ROOM_FOR_ONE_BYTES = 64 * 1_024
const ROOM_FOR_MANY_BYTES = 128 * 1_024

/** An entry that has no place in the chain yet. */
export type Unnumbered = Omit<AuditEntry, 'seq'> & { readonly at: string }

interface Waiting {
  readonly entry: Unnumbered
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

export interface AuditLogOptions {
  /** The position of the chain according to an independent record: a log without it was tampered with. */
  readonly known?: KnownChain | undefined
  /** Called after each write, when `head` has changed. */
  readonly onHead?: () => void
  /**
   * Called before the oldest entries are removed; once it resolves, entries older than `first` are not expected any
   * more. `newest` is the time of the last removed entry, `isYoung` whether it should have been kept.
   */
  readonly beforeDrop?: (first: number, newest: string, isYoung: boolean) => Promise<void>
  /**
   * How long the log has been in use. Entries younger than `keep_ms` by that measure are kept while there is any room.
   */
  readonly used_ms?: () => number
  readonly keep_ms?: number
  readonly segmentBytes_max?: number
  readonly segments_max?: number
  readonly youngSegments_max?: number
  readonly shortSegments?: number
}

/** Appends to the audit log. One writer; entries that wait together become durable together. */
export class AuditLog {
  readonly #folder: string
  readonly #options: Required<Omit<AuditLogOptions, 'known'>>
  readonly #reserve: Reserve
  readonly #shares: AuditShares
  readonly #waiting: Waiting[] = []
  #head: ChainHead
  #file: SegmentFile | undefined
  /** Bytes of whole lines in the open segment. */
  #bytes: number
  #writing: Promise<void> | undefined
  /** The problem found at opening, if any. */
  readonly problem: string | undefined

  constructor(folder: string, { known, ...options }: AuditLogOptions = {}) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#folder = folder
    this.#reserve = new Reserve(folder)
    this.#reserve.ensure()
    this.#options = {
      onHead: () => undefined,
      beforeDrop: async () => undefined,
      segmentBytes_max: AUDIT_SEGMENT_BYTES_MAX,
      used_ms: () => 0,
      keep_ms: 0,
      segments_max: AUDIT_SEGMENTS_MAX,
      youngSegments_max: AUDIT_YOUNG_SEGMENTS_MAX,
      shortSegments: AUDIT_SHORT_SEGMENTS,
      ...options,
    }
    const segments = segmentsIn(folder)
    const last = segments.at(-1)
    const found = last === undefined ? undefined : lastOf(last)
    const head = found?.head ?? GENESIS
    const isKept = known === undefined || holds(folder, known)
    this.problem = isKept ? found?.problem : `the entries from ${known.first} to ${known.seq} were modified`
    // The chain continues from the known position, so that the loss before it stays visible for ever.
    this.#head = isKept ? head : { seq: Math.max(head.seq, known.seq), hash: known.hash }
    // After a tampered line a new file begins, so that later entries are distinct from it.
    this.#bytes = found === undefined || this.problem !== undefined ? Number.POSITIVE_INFINITY : found.bytes
    const { segments_max, segmentBytes_max, used_ms } = this.#options
    const lines = last === undefined ? [] : readFileSync(last, 'utf8').split('\n').slice(0, -1)
    const limits = { ...AUDIT_PACE, bytes_max: (segments_max * segmentBytes_max) / 8 }
    this.#shares = new AuditShares(folder, limits, segments.slice(0, -1), lines, used_ms())
  }

  /**
   * Returns the seconds that this author must wait before the next entry: 0, unless the log is short of room because of
   * them.
   */
  wait_s(by: string): number {
    const { used_ms, keep_ms, shortSegments } = this.#options
    const since_ms = used_ms() - keep_ms
    return this.#shares.young(since_ms) < shortSegments ? 0 : this.#shares.wait_s(by, since_ms, used_ms())
  }

  /**
   * Whether the next entries can be written even on a full disk; part of the room is reserved for requests that free
   * some.
   */
  hasRoom(makesRoom: boolean): boolean {
    this.#reserve.ensure()
    return this.#reserve.isThere || (this.#file?.ahead ?? 0) >= (makesRoom ? ROOM_FOR_ONE_BYTES : ROOM_FOR_MANY_BYTES)
  }

  get head(): ChainHead {
    return this.#head
  }

  /** Resolves when the entry is on the disk. */
  append(entry: Unnumbered): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ entry, done, failed })
      this.#writing ??= this.#write()
    })
  }

  async close(): Promise<void> {
    await this.#writing
    await this.#file?.close()
    this.#file = undefined
  }

  async #write(): Promise<void> {
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0)
      try {
        await this.#append(batch.map(({ entry }) => entry))
        for (const { done } of batch) done()
      } catch (error) {
        for (const { failed } of batch) failed(error)
      }
    }
    this.#writing = undefined
  }

  async #append(entries: readonly Unnumbered[]): Promise<void> {
    if (this.#bytes >= this.#options.segmentBytes_max) await this.#nextSegment()
    let head = this.#head
    const lines: string[] = []
    for (const entry of entries) {
      const link = chain({ seq: head.seq + 1, ...entry }, head)
      head = link.head
      lines.push(`${link.line}\n`)
    }
    const bytes = Buffer.from(lines.join(''))
    const file = (this.#file ??= await this.#openLast())
    try {
      await file.append(bytes)
    } catch (error) {
      if (!this.#reserve.release()) throw error
      await file.append(bytes)
    }
    this.#bytes += bytes.length
    this.#head = head
    await this.#makeRoom(file)
    for (const line of lines) this.#shares.add(line, this.#options.used_ms())
    this.#options.onHead()
  }

  /** Turns the reserve into room of the open file when the disk has none. */
  async #makeRoom(file: SegmentFile): Promise<void> {
    if ((await file.extend()) || file.ahead >= ROOM_FOR_MANY_BYTES) return this.#reserve.ensure()
    if (this.#reserve.release()) await file.extend()
  }

  async #openLast(): Promise<SegmentFile> {
    const last = segmentsIn(this.#folder).at(-1)
    if (last === undefined) throw new Error('the audit log has no open segment')
    return SegmentFile.open(last, this.#bytes)
  }

  async #nextSegment(): Promise<void> {
    const { used_ms, keep_ms, segments_max, youngSegments_max } = this.#options
    const full = segmentsIn(this.#folder).at(-1)
    if (full !== undefined) this.#shares.end(full, used_ms())
    const next = await SegmentFile.create(segmentPath(this.#folder, this.#head.seq + 1))
    await this.#file?.end()
    this.#file = next
    this.#bytes = 0
    const segments = segmentsIn(this.#folder)
    const isYoung = (path: string) => this.#shares.isYoung(path, used_ms() - keep_ms)
    const stays = (path: string, place: number) =>
      segments.length - place <= (isYoung(path) ? youngSegments_max : segments_max)
    const kept = segments.findIndex(stays)
    const expired = segments.slice(0, kept)
    const last = expired.at(-1)
    if (last !== undefined) {
      await this.#options.beforeDrop(firstOf(segments[kept] ?? ''), lastOf(last)?.at ?? '', isYoung(last))
    }
    for (const old of expired) unlinkSync(old)
    this.#shares.note(segments.slice(kept, -1))
    const folder = openSync(this.#folder, 'r')
    fsyncSync(folder)
    closeSync(folder)
  }
}

/** Whether one of the last segments contains this entry. The independent record lags by a few entries at most. */
function holds(folder: string, known: KnownChain): boolean {
  const segments = segmentsIn(folder)
  const [oldest] = segments
  if (oldest === undefined || firstOf(oldest) > known.first) return false
  return segments.slice(-2).some((path) => readFileSync(path, 'utf8').includes(`,"hash":"${known.hash}"}\n`))
}
