import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import { type Absorbed, Collector } from './collector.ts'
import type { Feed, Told } from './feed.ts'
import { HealthWatch } from './health-watch.ts'
import type { HaproxyTick, StatsSource, TickState } from './messages.ts'
import type { PollTime } from './sampled-seconds.ts'
import { createSource, type Poll, type Source } from './source.ts'

/** The figures of HAProxy, polled over its socket. */
export class HaproxyFeed implements Feed<Poll, Absorbed, HaproxyTick> {
  readonly isIdle = false
  readonly poll: Source
  readonly collector: Collector
  readonly #health = new HealthWatch()
  /** Layout of the rows whose objects were reported last. */
  #layout = -1

  constructor(source: StatsSource, writer: ArchiveWriter) {
    this.poll = createSource(source)
    this.collector = new Collector(writer)
  }

  absorb(poll: Poll, time: PollTime): Absorbed | string {
    return poll.ok ? (this.collector.absorb(poll, time) ?? 'its answer was cut off') : poll.reason
  }

  message(absorbed: Absorbed | undefined, state: TickState): Told<HaproxyTick> {
    if (absorbed === undefined) return { message: { type: 'tick', ...state, ...NOTHING }, transfer: [] }
    const { csv, starts: rows, kinds, statuses, layout } = absorbed
    const health = this.#health.changes(absorbed)
    const listed = this.#listed(absorbed)
    return {
      message: { type: 'tick', ...state, csv, rows, kinds, statuses, layout, health, listed },
      transfer: [csv.buffer, rows.buffer, kinds.buffer, statuses.buffer],
    }
  }

  #listed({ layout, objects }: Absorbed): Uint32Array<ArrayBuffer> | undefined {
    if (layout === this.#layout) return undefined
    this.#layout = layout
    return Uint32Array.from(objects.flatMap((object) => (object === undefined ? [] : [object.id])))
  }
}

const NOTHING = {
  csv: undefined,
  rows: undefined,
  kinds: undefined,
  statuses: undefined,
  layout: 0,
  health: undefined,
  listed: undefined,
} as const
