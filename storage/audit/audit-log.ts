import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readFileSync, unlinkSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { AUDIT_SEGMENT_BYTES_MAX, AUDIT_SEGMENTS_MAX } from '../limits.ts'
import { Reserve } from './reserve.ts'
import {
  type AuditEntry,
  chained,
  type ChainHead,
  firstOf,
  GENESIS,
  type KnownChain,
  segmentPath,
  segmentsIn,
  unchained,
} from './segments.ts'

/** An entry before it has its place in the chain. */
export type Unnumbered = Omit<AuditEntry, 'seq'> & { readonly at: string }

interface Waiting {
  readonly entry: Unnumbered
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

export interface AuditLogOptions {
  /** How far somebody else knows that the chain was: a log without it was tampered with. */
  readonly known?: KnownChain | undefined
  /** Told after each write what the chain has come to. */
  readonly onHead?: () => void
  /** Called before the oldest entries go: what is older than `first` is not missed any more when it resolves. `newest` is when the last of them was made. */
  readonly beforeDrop?: (first: number, newest: string) => Promise<void>
  readonly segmentBytes_max?: number
  readonly segments_max?: number
}

/** Appends to the audit log. One writer; entries that wait together become durable together. */
export class AuditLog {
  readonly #folder: string
  readonly #options: Required<Omit<AuditLogOptions, 'known'>>
  readonly #reserve: Reserve
  readonly #waiting: Waiting[] = []
  #head: ChainHead
  #file: FileHandle | undefined
  /** Bytes of whole lines in the open segment. */
  #bytes: number
  #writing: Promise<void> | undefined
  /** What was found wrong when it was opened. */
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
      segments_max: AUDIT_SEGMENTS_MAX,
      ...options,
    }
    const last = segmentsIn(folder).at(-1)
    const found = last === undefined ? undefined : lastOf(last)
    const head = found?.head ?? GENESIS
    const isKept = known === undefined || holds(folder, known)
    this.problem = isKept
      ? found?.problem
      : `the entries from ${known.first} to ${known.seq} are not those that were written`
    // The chain goes on from what is known, and shows for ever that what was before it is not.
    this.#head = isKept ? head : { seq: Math.max(head.seq, known.seq), hash: known.hash }
    // After a line that somebody touched a new file begins, so that what follows can be told from it.
    this.#bytes = found === undefined || this.problem !== undefined ? Number.POSITIVE_INFINITY : found.bytes
  }

  /** Entries would be written also on a disk that is full now. */
  get hasReserve(): boolean {
    this.#reserve.ensure()
    return this.#reserve.isThere
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
    let text = ''
    for (const entry of entries) {
      const link = chained({ seq: head.seq + 1, ...entry }, head)
      head = link.head
      text += `${link.line}\n`
    }
    const bytes = Buffer.from(text)
    try {
      await this.#writeDown(bytes)
    } catch (error) {
      if (!this.#reserve.release()) throw error
      await this.#writeDown(bytes)
    }
    this.#bytes += bytes.length
    this.#head = head
    this.#reserve.ensure()
    this.#options.onHead()
  }

  async #writeDown(bytes: Uint8Array): Promise<void> {
    const file = (this.#file ??= await this.#openLast())
    try {
      // At its place: what an earlier attempt left there, when the disk was full, is overwritten.
      await writeAll(file, bytes, this.#bytes)
      await file.datasync()
    } catch (error) {
      await file.truncate(this.#bytes).catch(() => undefined)
      throw error
    }
  }

  #openLast(): Promise<FileHandle> {
    const last = segmentsIn(this.#folder).at(-1)
    if (last === undefined) throw new Error('the audit log has no open segment')
    return open(last, 'r+')
  }

  async #nextSegment(): Promise<void> {
    await this.#file?.close()
    this.#file = await open(segmentPath(this.#folder, this.#head.seq + 1), 'w', 0o600)
    await this.#file.sync()
    this.#bytes = 0
    const segments = segmentsIn(this.#folder)
    const expired = segments.slice(0, Math.max(0, segments.length - this.#options.segments_max))
    const last = expired.at(-1)
    if (last !== undefined) {
      await this.#options.beforeDrop(firstOf(segments[expired.length] ?? ''), lastOf(last)?.at ?? '')
    }
    for (const old of expired) unlinkSync(old)
    const folder = openSync(this.#folder, 'r')
    fsyncSync(folder)
    closeSync(folder)
  }
}

/** Whether one of the last segments has this entry. What is known is at most a few entries old. */
function holds(folder: string, known: KnownChain): boolean {
  const segments = segmentsIn(folder)
  const [oldest] = segments
  if (oldest === undefined || firstOf(oldest) > known.first) return false
  return segments.slice(-2).some((path) => readFileSync(path, 'utf8').includes(`,"hash":"${known.hash}"}\n`))
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}

interface SegmentEnd {
  readonly head: ChainHead
  /** When its last entry was made. */
  readonly at: string
  readonly bytes: number
  readonly problem: string | undefined
}

/** The end of the chain in a segment; a line that a crash left unfinished is taken off. */
function lastOf(path: string): SegmentEnd | undefined {
  const content = readFileSync(path)
  const bytes = content.lastIndexOf(0x0a) + 1
  if (bytes < content.length) {
    const file = openSync(path, 'r+')
    ftruncateSync(file, bytes)
    fsyncSync(file)
    closeSync(file)
  }
  const lines = content.subarray(0, bytes).toString().split('\n')
  for (let at = lines.length - 2; at >= 0; at--) {
    const entry = unchained(lines[at] ?? '')
    if (entry === undefined) continue
    const isLast = at === lines.length - 2
    const problem = isLast ? undefined : `${path}: ${lines.length - 2 - at} lines at its end are damaged`
    return { head: { seq: entry.seq + (lines.length - 2 - at), hash: entry.hash }, at: entry.at, bytes, problem }
  }
  return emptySegment(path, lines.length - 1)
}

/** A segment that a crash left empty goes on where its name says; the chain goes on from the segment before it. */
function emptySegment(path: string, damaged: number): SegmentEnd | undefined {
  const folder = path.slice(0, path.lastIndexOf('/'))
  const before = segmentsIn(folder).findLast((segment) => segment < path)
  const found = before === undefined ? undefined : lastOf(before)
  const head = found?.head ?? GENESIS
  const problem = damaged === 0 ? found?.problem : `${path}: all of its lines are damaged`
  return { head: { seq: head.seq + damaged, hash: head.hash }, at: found?.at ?? '', bytes: 0, problem }
}
