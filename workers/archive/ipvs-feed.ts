import type { NetlinkChannel } from '../../src/ipvs/exchange.ts'
import type { IpvsPlan } from '../../src/ipvs/names.ts'
import { IpvsReader, type ReadFailure } from '../../src/ipvs/reader.ts'
import type { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { Feed } from './feed.ts'
import { IpvsCollector } from './ipvs-collector.ts'
import { IpvsPlaces } from './ipvs-places.ts'
import { ipvsRows } from './ipvs-rows.ts'
import type { TickState } from './messages.ts'
import type { PollTime } from './sampled-seconds.ts'

const NO_SOCKET = 'the daemon was started without its launcher, which opens the socket'

/** The figures of the kernel's balancing table. While nothing of Layer 4 is configured it is not even looked at. */
export class IpvsFeed implements Feed {
  readonly #reader: IpvsReader | undefined
  readonly #places = new IpvsPlaces()
  readonly collector: IpvsCollector
  #failure: ReadFailure = 'it has not been read yet'
  #rows: Float64Array<ArrayBuffer> | undefined

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

  /** The kernel answers at once. */
  ask(): Promise<void> {
    this.#failure = this.#reader === undefined ? NO_SOCKET : this.#reader.read()
    return Promise.resolve()
  }

  absorb(time: PollTime): string | undefined {
    this.#rows = undefined
    if (this.#failure !== undefined || this.#reader === undefined) return this.#failure
    const { table } = this.#reader
    this.#places.follow(table)
    this.#rows = ipvsRows(table, this.#places)
    this.collector.absorb(table, this.#rows, time)
    return undefined
  }

  message(state: TickState): ReturnType<Feed['message']> {
    const figures = this.#rows
    const transfer = figures === undefined ? [] : [figures.buffer]
    return { message: { type: 'table', ...state, figures, plan: this.#places.plan.version }, transfer }
  }
}
