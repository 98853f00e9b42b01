import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** The record of a full segment. */
interface Part {
  /** In time of use, so that setting the clock does not age it. */
  readonly ended_ms: number
  /** Bytes by author of the entries; authors of few are left out. */
  readonly bytes: Readonly<Record<string, number>>
}

export interface ShareLimits {
  /** Bytes of young entries from which on an author is slowed down. */
  readonly bytes_max: number
  /** Bytes at once, and then per second, for authors above `bytes_max` while room is short. */
  readonly burst_bytes: number
  readonly bytesPerSecond: number
}

const FILE = 'shares.json'
/** Share of a segment: an author with less cannot be the one who fills the log. */
const LEFT_OUT_BELOW = 0.01

/**
 * Records whose entries fill the log. The record is a file beside the segments, and only a hint: where it is missing,
 * segments count as young and belong to no user.
 */
export class AuditShares {
  readonly #path: string
  readonly #limits: ShareLimits
  readonly #ended: Map<string, Part>
  #open = new Map<string, number>()
  readonly #paced = new Map<string, { left: number; at_ms: number }>()

  /** `segments` are the full ones, `open` the lines of the last. */
  constructor(
    folder: string,
    limits: ShareLimits,
    segments: readonly string[],
    open: readonly string[],
    now_ms: number,
  ) {
    this.#path = join(folder, FILE)
    this.#limits = limits
    const noted = read(this.#path)
    this.#ended = new Map(
      segments.map((path) => [basename(path), noted.get(basename(path)) ?? { ended_ms: now_ms, bytes: {} }]),
    )
    for (const line of open) this.#count(line)
  }

  /** Counts a line of the open segment. */
  add(line: string, now_ms: number): void {
    const by = this.#count(line)
    const pace = by === undefined ? undefined : this.#paced.get(by)
    if (pace === undefined) return
    this.#refill(pace, now_ms)
    pace.left -= line.length
  }

  /** Records that the open segment is full. */
  end(path: string, now_ms: number): void {
    const all = [...this.#open.values()].reduce((sum, bytes) => sum + bytes, 0)
    const large = [...this.#open].filter(([, bytes]) => bytes >= all * LEFT_OUT_BELOW)
    this.#ended.set(basename(path), { ended_ms: now_ms, bytes: Object.fromEntries(large) })
    this.#open = new Map()
  }

  /** Stores the record. A full disk must not stop other work. */
  note(segments: readonly string[]): void {
    const kept = new Set(segments.map((path) => basename(path)))
    for (const name of this.#ended.keys()) if (!kept.has(name)) this.#ended.delete(name)
    try {
      writeFileSync(`${this.#path}.new`, JSON.stringify(Object.fromEntries(this.#ended)), { mode: 0o600, flush: true })
      renameSync(`${this.#path}.new`, this.#path)
    } catch {
      rmSync(`${this.#path}.new`, { force: true })
    }
  }

  /** Whether a full segment has entries newer than `since_ms`. */
  isYoung(path: string, since_ms: number): boolean {
    return (this.#ended.get(basename(path))?.ended_ms ?? Number.POSITIVE_INFINITY) > since_ms
  }

  /** Counts the full segments with entries newer than `since_ms`. */
  young(since_ms: number): number {
    return [...this.#ended.values()].filter(({ ended_ms }) => ended_ms > since_ms).length
  }

  /** Returns the seconds that an author must wait while room is short; 0 for one who did not fill the log. */
  wait_s(name: string, since_ms: number, now_ms: number): number {
    const by = keyOf(name)
    if (this.#bytesOf(by, since_ms) < this.#limits.bytes_max) return 0
    let pace = this.#paced.get(by)
    if (pace === undefined) this.#paced.set(by, (pace = { left: this.#limits.burst_bytes, at_ms: now_ms }))
    this.#refill(pace, now_ms)
    return pace.left > 0 ? 0 : Math.ceil((1 - pace.left) / this.#limits.bytesPerSecond)
  }

  #bytesOf(by: string, since_ms: number): number {
    let sum = this.#open.get(by) ?? 0
    for (const { ended_ms, bytes } of this.#ended.values()) if (ended_ms > since_ms) sum += bytes[by] ?? 0
    return sum
  }

  #refill(pace: { left: number; at_ms: number }, now_ms: number): void {
    const { burst_bytes, bytesPerSecond } = this.#limits
    pace.left = Math.min(burst_bytes, pace.left + ((now_ms - pace.at_ms) / 1000) * bytesPerSecond)
    pace.at_ms = now_ms
  }

  /** Ignores refusals: they are bounded elsewhere, and the name in a failed login proves nothing. */
  #count(line: string): string | undefined {
    // The first match is the entry's own field; text from the request comes later in the line.
    if (/"outcome":"(\w+)"/.exec(line)?.[1] === 'refused') return undefined
    const name = /"by":("(?:[^"\\]|\\.)*")/.exec(line)?.[1]
    if (name === undefined) return undefined
    const by = keyOf(String(JSON.parse(name)))
    this.#open.set(by, (this.#open.get(by) ?? 0) + line.length)
    return by
  }
}

const keyOf = (name: string) => name.toLowerCase()

function read(path: string): ReadonlyMap<string, Part> {
  try {
    const noted: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return new Map(Object.entries(Object(noted)).filter((entry): entry is [string, Part] => isPart(entry[1])))
  } catch {
    return new Map()
  }
}

function isPart(value: unknown): value is Part {
  const { ended_ms, bytes }: { readonly ended_ms?: unknown; readonly bytes?: unknown } = Object(value)
  if (typeof ended_ms !== 'number' || typeof bytes !== 'object' || bytes === null) return false
  return Object.values(bytes).every((count) => typeof count === 'number')
}
