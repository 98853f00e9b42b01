import type { SideTable } from '../../storage/config/config-store.ts'
import type { EventsReader } from '../context/events.ts'
import type { Stream } from '../context/rendered.ts'
import type { Clock } from '../base/clock.ts'
import { type Log, logDefect } from '../base/log.ts'
import type { EventKind } from '../model/job.ts'

const KEPT_MAX = 5_000

/** Something that happened. */
export interface Event {
  /** Rises by one with each event, also over restarts. */
  readonly id: number
  /** ISO 8601. */
  readonly at: string
  readonly kind: EventKind
  readonly data: object
}

export type Subscriber = (event: Event) => void

/** After so long a client that lost its stream comes back. */
const RETRY_MS = 2000

const keyOf = (id: number) => String(id).padStart(16, '0')

/**
 * Recent events, for those who watch. An event is sent when it is on the disk, or refused by it, so that no number is
 * reused unless the disk fails: a client that comes back with the last number it saw gets exactly what came after it.
 */
export class Events implements EventsReader {
  readonly #table: SideTable
  readonly #clock: Clock
  readonly #log: Log
  readonly #subscribers = new Set<Subscriber>()
  #kept: Event[]
  #waiting: Event[] = []
  /** Events that were sent although the disk refused them; they are written with the next one. */
  #unwritten: Event[] = []
  #next: number
  /** When everything that was published is on the disk. */
  #stored: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(table: SideTable, clock: Clock, log: Log) {
    this.#table = table
    this.#clock = clock
    this.#log = log
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by #write only
    this.#kept = table.entries().map(({ value }) => value as Event)
    this.#next = (this.#kept.at(-1)?.id ?? 0) + 1
  }

  publish(kind: EventKind, data: object): void {
    if (this.#isClosed) return
    const at = new Date(this.#clock.now_ms()).toISOString()
    this.#waiting.push({ id: this.#next++, at, kind, data })
    // Whatever comes in this turn, and while one write is under way, goes with the next.
    if (this.#waiting.length === 1) this.#stored = this.#stored.then(() => this.#write())
  }

  /** Id of the last event that was told; 0 when there was none. */
  get lastId(): number {
    return this.#kept.at(-1)?.id ?? 0
  }

  /**
   * What came after this id, oldest first; undefined when some of it is not kept any more, or the id was never given.
   */
  after(id: number): readonly Event[] | undefined {
    const first = this.#kept[0]?.id ?? this.#next
    if (id > this.lastId || id < first - 1) return undefined
    return this.#kept.slice(this.#kept.length - (this.lastId - id))
  }

  latest(count: number): readonly Event[] {
    return this.#kept.slice(-count).toReversed()
  }

  /** Calls for every event from now on; the answer ends it. */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber)
    return () => void this.#subscribers.delete(subscriber)
  }

  stream(after: number | undefined, kinds: readonly EventKind[]): Stream {
    const wanted = ({ kind }: Event) => kinds.length === 0 || kinds.includes(kind)
    return (sink) => {
      const missed = after === undefined ? [] : this.after(after)
      sink.write(
        `retry: ${RETRY_MS}\n\n${(missed === undefined ? [this.#gap()] : missed.filter(wanted)).map(eventText).join('')}`,
      )
      const stop = this.subscribe((event) => {
        if (wanted(event)) sink.write(eventText(event))
      })
      return stop
    }
  }

  /** Sent to clients that can no longer get some events. */
  #gap() {
    const message = 'Some events since your last one are not kept any more; read again what you need to know'
    return { id: this.lastId, kind: 'reset', data: { message } }
  }

  /** When everything that was published is on the disk; nothing is told after it. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stored
  }

  /** When everything that was published until now is on the disk, or the log says why not. */
  stored(): Promise<void> {
    return this.#stored
  }

  async #write(): Promise<void> {
    const batch = this.#waiting.splice(0)
    const surplus = Math.max(0, this.#kept.length + batch.length - KEPT_MAX)
    const removed = this.#kept.slice(0, surplus).map(({ id }) => keyOf(id))
    const unwritten = [...this.#unwritten, ...batch].slice(-KEPT_MAX)
    try {
      await this.#table.write(
        unwritten.map((event) => ({ key: keyOf(event.id), value: event })),
        removed,
      )
      this.#unwritten = []
    } catch (error) {
      this.#unwritten = unwritten
      this.#log.warn('events are not on the disk', { count: batch.length, reason: String(error) })
    }
    this.#kept = [...this.#kept.slice(surplus), ...batch]
    for (const event of batch) for (const subscriber of this.#subscribers) this.#tell(subscriber, event)
  }

  /** A subscriber that fails must not keep others from being told, or itself from later events. */
  #tell(subscriber: Subscriber, event: Event): void {
    try {
      subscriber(event)
    } catch (error) {
      logDefect(this.#log, error, { event: event.id })
    }
  }
}

/** As `text/event-stream` has it; JSON holds no line break. */
function eventText({
  id,
  kind,
  data,
  ...more
}: Pick<Event, 'id' | 'data'> & { readonly kind: string; readonly at?: string }) {
  return `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify({ ...more, ...data })}\n\n`
}
