import type { NetlinkChannel } from '../../src/ipvs/exchange.ts'
import type { IpvsPlan } from '../../src/ipvs/names.ts'
import { IpvsReader } from '../../src/ipvs/reader.ts'
import type { IpvsTable } from '../../src/ipvs/table.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { Feed, Told } from './feed.ts'
import { IpvsCollector } from './ipvs-collector.ts'
import { IpvsPlaces } from './ipvs-places.ts'
import { ipvsRows } from './ipvs-rows.ts'
import { IpvsTotals } from './ipvs-totals.ts'
import type { IpvsTick, TickState } from './messages.ts'
import type { PollTime } from './sampled-seconds.ts'

const NO_SOCKET = 'the daemon was started without its launcher, which opens the socket'

/** The figures of the kernel's balancing table, which is read only while Layer 4 is configured. */
export class IpvsFeed implements Feed<IpvsTable | string, Float64Array<ArrayBuffer>, IpvsTick> {
  readonly #reader: IpvsReader | undefined
  readonly #places = new IpvsPlaces()
  readonly #totals = new IpvsTotals(this.#places)
  readonly collector: IpvsCollector

  constructor(channel: NetlinkChannel | undefined, writer: ArchiveWriter) {
    this.#reader = channel && new IpvsReader(channel)
    this.collector = new IpvsCollector(writer, this.#places)
  }

  take(plan: IpvsPlan): void {
    this.#places.take(plan)
    // An apply may have started what was missing.
    this.#reader?.lookAgain()
  }

  get isIdle(): boolean {
    const { frontends, backends } = this.#places.plan
    return frontends.length + backends.length === 0
  }

  /** The kernel answers at once. The next reading reuses the same table. */
  poll(): Promise<IpvsTable | string> {
    return Promise.resolve(this.#reader === undefined ? NO_SOCKET : (this.#reader.read() ?? this.#reader.table))
  }

  absorb(table: IpvsTable | string, time: PollTime): Float64Array<ArrayBuffer> | string {
    if (typeof table === 'string') return table
    this.#places.follow(table)
    const figures = ipvsRows(table, this.#places)
    this.collector.absorb(table, figures, time)
    this.#totals.add(this.collector.increments, figures)
    return figures
  }

  message(figures: Float64Array<ArrayBuffer> | undefined, state: TickState): Told<IpvsTick> {
    const transfer = figures === undefined ? [] : [figures.buffer]
    return { message: { type: 'tick', ...state, figures, plan: this.#places.plan.version }, transfer }
  }
}
