import type { SideTable } from '../../storage/config/config-store.ts'
import type { EventsReader } from '../context/events.ts'
import type { Stream } from '../context/rendered.ts'
import type { Clock } from '../base/clock.ts'
import { type Log, logDefect } from '../base/log.ts'
import type { EventData, EventKind } from '../model/job.ts'

const KEPT_MAX = 5_000

/** An event of the appliance. */
export interface Event {
  /** Rises by one with each event, also across restarts. */
  readonly id: number
  /** In ISO 8601. */
  readonly at: string
  readonly kind: EventKind
  readonly data: object
}

export type Subscriber = (event: Event) => void

/** Wait after which a client reopens a lost stream. */
const RETRY_MS = 2000

const keyOf = (id: number) => String(id).padStart(16, '0')

/**
 * The recent events. An event is sent once it is stored, or storing it has failed, so no id is reused unless the disk
 * fails: a client that returns with the last id it saw gets exactly the events after it.
 */
export class Events implements EventsReader {
  readonly #table: SideTable
  readonly #clock: Clock
  readonly #log: Log
  readonly #subscribers = new Set<Subscriber>()
  #kept: Event[]
  #waiting: Event[] = []
  /** Events that were sent although they could not be stored; the next write includes them. */
  #unwritten: Event[] = []
  #next: number
  /** Resolves when every published event is on the disk. */
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

  publish<Kind extends EventKind>(kind: Kind, data: EventData<Kind>): void {
    if (this.#isClosed) return
    const at = new Date(this.#clock.now_ms()).toISOString()
    this.#waiting.push({ id: this.#next++, at, kind, data })
    // Events published in the same turn, or while a write is in progress, are written together next.
    if (this.#waiting.length === 1) this.#stored = this.#stored.then(() => this.#write())
  }

  /** Id of the last event that was sent; 0 if there was none. */
  get lastId(): number {
    return this.#kept.at(-1)?.id ?? 0
  }

  /**
   * Returns the events after this id, oldest first; undefined if some of them are no longer kept, or the id was never
   * used.
   */
  after(id: number): readonly Event[] | undefined {
    const first = this.#kept[0]?.id ?? this.#next
    if (id > this.lastId || id < first - 1) return undefined
    return this.#kept.slice(this.#kept.length - (this.lastId - id))
  }

  latest(count: number): readonly Event[] {
    return this.#kept.slice(-count).toReversed()
  }

  /** Calls the subscriber for every event from now on; the returned function ends that. */
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

  /** Returns the event for clients that can no longer get some events. */
  #gap() {
    const message = 'Some events since your last one are no longer stored; read the current state again'
    return { id: this.lastId, kind: 'reset', data: { message } }
  }

  /** Resolves when every published event is on the disk; later events are dropped. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stored
  }

  /** Resolves when every event published so far is on the disk, or the log says why not. */
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
      this.#log.warn('events could not be written to the disk', { count: batch.length, reason: String(error) })
    }
    this.#kept = [...this.#kept.slice(surplus), ...batch]
    for (const event of batch) for (const subscriber of this.#subscribers) this.#tell(subscriber, event)
  }

  /** A failing subscriber must neither keep events from other subscribers nor lose its own later ones. */
  #tell(subscriber: Subscriber, event: Event): void {
    try {
      subscriber(event)
    } catch (error) {
      logDefect(this.#log, error, { event: event.id })
    }
  }
}

/** Returns the event in the format of `text/event-stream`; JSON contains no line break. */
function eventText({
  id,
  kind,
  data,
  ...more
}: Pick<Event, 'id' | 'data'> & { readonly kind: string; readonly at?: string }) {
  return `id: ${id}\nevent: ${kind}\ndata: ${JSON.stringify({ ...more, ...data })}\n\n`
}
