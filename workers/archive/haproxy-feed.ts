import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import { type Absorbed, Collector } from './collector.ts'
import type { Feed } from './feed.ts'
import { HealthWatch } from './health-watch.ts'
import type { StatsSource, TickState } from './messages.ts'
import type { PollTime } from './sampled-seconds.ts'
import { createSource, type Poll, type Source } from './source.ts'

/** The figures of HAProxy, as its socket tells them. */
export class HaproxyFeed implements Feed {
  readonly isIdle = false
  readonly #source: Source
  readonly collector: Collector
  readonly #health = new HealthWatch()
  #poll: Poll = { ok: false, reason: 'it has not been asked yet' }
  #absorbed: Absorbed | undefined
  /** Of the rows whose objects were told last. */
  #layout = -1

  constructor(source: StatsSource, writer: ArchiveWriter) {
    this.#source = createSource(source)
    this.collector = new Collector(writer)
  }

  async ask(deadline_ms: number): Promise<void> {
    this.#poll = await this.#source(deadline_ms)
  }

  absorb(time: PollTime): string | undefined {
    const poll = this.#poll
    this.#absorbed = poll.ok ? this.collector.absorb(poll, time) : undefined
    if (!poll.ok) return poll.reason
    return this.#absorbed === undefined ? 'its answer was cut off' : undefined
  }

  message(state: TickState): ReturnType<Feed['message']> {
    const absorbed = this.#absorbed
    const csv = this.#poll.ok && absorbed !== undefined ? this.#poll.current.bytes : undefined
    const health = csv === undefined || absorbed === undefined ? undefined : this.#health.changes(csv, absorbed)
    const rows = absorbed?.starts
    const listed = absorbed === undefined ? undefined : this.#listed(absorbed)
    const transfer = csv === undefined || rows === undefined ? [] : [csv.buffer, rows.buffer]
    const layout = absorbed?.layout ?? 0
    return { message: { type: 'tick', ...state, csv, rows, layout, health, listed }, transfer }
  }

  #listed({ layout, objects }: Absorbed): Uint32Array<ArrayBuffer> | undefined {
    if (layout === this.#layout) return undefined
    this.#layout = layout
    return Uint32Array.from(objects.flatMap((object) => (object === undefined ? [] : [object.id])))
  }
}
