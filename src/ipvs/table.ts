import { FORWARDING_MASK, MARK_BIT, PERSISTENT, type STATS, STATS_COUNT, TOTAL_COUNT } from './protocol.ts'
import { addressOfWords, dottedMask } from './addresses.ts'

/**
 * Words that identify an entry: family, protocol and kind in the first, port or mark in the second, then the address.
 */
export const IDENTITY_WORDS = 6
/** Figures of a destination besides its statistics. */
export const DEST_FIGURES = 5
export const FIGURE = { forwarding: 0, weight: 1, active: 2, inactive: 3, persistent: 4 } as const

export type Totals = Readonly<Record<(typeof STATS)[number], number>>

export interface DestEntry extends Totals {
  readonly address: string
  readonly port: number
  /** The kernel's number: 0 masq, 2 ipip, 3 gate. */
  readonly forwarding: number
  readonly weight: number
  readonly active: number
  readonly inactive: number
  readonly persistent: number
  readonly perSecond: Totals
}

export interface ServiceEntry extends Totals {
  readonly family: number
  /** Undefined for a mark. */
  readonly protocol: number | undefined
  readonly address: string | undefined
  readonly port: number | undefined
  readonly mark: number | undefined
  readonly scheduler: string
  /** Seconds; undefined if it is not persistent. */
  readonly timeout: number | undefined
  /** The size of the groups of clients that count as one: a dotted mask, or an IPv6 prefix length. */
  readonly netmask: string
  readonly perSecond: Totals
  readonly dests: readonly DestEntry[]
}

function grown(column: Float64Array, size: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(Math.max(size, column.length * 2))
  larger.set(column)
  return larger
}

/** Entries of one kind in columns, which are reused for every reading. */
export class Entries {
  count = 0
  ids = new Uint32Array(0)
  stats = new Float64Array(0)
  figures = new Float64Array(0)
  readonly #figureCount: number
  #before = 0

  constructor(figureCount: number) {
    this.#figureCount = figureCount
  }

  begin(): void {
    this.#before = this.count
    this.count = 0
  }

  /** Adds an entry, whose statistics are unknown. */
  add(): number {
    const index = this.count++
    if (this.ids.length < this.count * IDENTITY_WORDS) {
      const size = Math.max(64, this.count)
      const ids = new Uint32Array(Math.max(size * IDENTITY_WORDS, this.ids.length * 2))
      ids.set(this.ids)
      this.ids = ids
      this.stats = grown(this.stats, (ids.length / IDENTITY_WORDS) * STATS_COUNT)
      this.figures = grown(this.figures, (ids.length / IDENTITY_WORDS) * this.#figureCount)
    }
    this.stats.fill(Number.NaN, index * STATS_COUNT, (index + 1) * STATS_COUNT)
    this.figures.fill(0, index * this.#figureCount, (index + 1) * this.#figureCount)
    return index
  }

  /** Sets the identity of an entry. Returns whether the previous reading had the same one in this place. */
  identify(index: number, words: Uint32Array): boolean {
    const at = index * IDENTITY_WORDS
    let isSame = index < this.#before
    for (let word = 0; word < IDENTITY_WORDS; word++) {
      const value = words[word] ?? 0
      isSame &&= this.ids[at + word] === value
      this.ids[at + word] = value
    }
    return isSame
  }

  get isShorter(): boolean {
    return this.count < this.#before
  }

  key(index: number): string {
    return this.ids.subarray(index * IDENTITY_WORDS, (index + 1) * IDENTITY_WORDS).join('.')
  }

  totals(index: number, from = 0): Totals {
    const at = index * STATS_COUNT + from
    const [connections = 0, packetsIn = 0, packetsOut = 0, bytesIn = 0, bytesOut = 0] = this.stats.subarray(at)
    return { connections, packetsIn, packetsOut, bytesIn, bytesOut }
  }
}

/** The kernel's services and their destinations at one reading. Nothing is allocated while they stay the same. */
export class IpvsTable {
  readonly services = new Entries(0)
  readonly dests = new Entries(DEST_FIGURES)
  /** The index of each service's first destination, plus the end of the last. */
  destStart = new Uint32Array(1)
  schedulers: string[] = []
  /** Per service: its flags, and the timeout and the mask of its persistence. */
  settings = new Uint32Array(0)
  /** Changes whenever the services or destinations, or their order, differ from the previous reading. */
  layout = 0
  #isSame = true
  /** False after an incomplete reading, with which the next one cannot be compared. */
  #isWhole = true

  begin(): void {
    this.services.begin()
    this.dests.begin()
    this.#isSame = this.#isWhole
    this.#isWhole = false
  }

  addService(words: Uint32Array): number {
    const index = this.services.add()
    this.#isSame = this.services.identify(index, words) && this.#isSame
    if (this.destStart.length < index + 2) {
      const room = this.services.ids.length / IDENTITY_WORDS
      const starts = new Uint32Array(room + 1)
      starts.set(this.destStart)
      this.destStart = starts
      const settings = new Uint32Array(room * 3)
      settings.set(this.settings)
      this.settings = settings
    }
    return index
  }

  /** Adds a destination of `service`; those of one service come together, in the order of the services. */
  addDest(words: Uint32Array): number {
    const index = this.dests.add()
    this.#isSame = this.dests.identify(index, words) && this.#isSame
    return index
  }

  beginDests(service: number): void {
    this.#isSame = this.destStart[service] === this.dests.count && this.#isSame
    this.destStart[service] = this.dests.count
  }

  end(): void {
    const { services, dests } = this
    this.destStart[services.count] = dests.count
    if (!this.#isSame || services.isShorter || dests.isShorter) this.layout++
    this.#isWhole = true
  }

  /** Returns the entries as objects, for people and tests. */
  entries(): readonly ServiceEntry[] {
    return Array.from({ length: this.services.count }, (_, index) => this.#service(index))
  }

  #service(index: number): ServiceEntry {
    const { services } = this
    const words = services.ids.subarray(index * IDENTITY_WORDS, (index + 1) * IDENTITY_WORDS)
    const [head = 0, port = 0] = words
    const isMark = (head & MARK_BIT) !== 0
    const [flags = 0, timeout = 0, netmask = 0] = this.settings.subarray(index * 3)
    const family = head & 0xff
    return {
      family,
      protocol: isMark ? undefined : (head >> 8) & 0xff,
      address: isMark ? undefined : addressOfWords(family, words.subarray(2)),
      port: isMark ? undefined : port,
      mark: isMark ? port : undefined,
      scheduler: this.schedulers[index] ?? '',
      timeout: (flags & PERSISTENT) === 0 ? undefined : timeout,
      netmask: dottedMask(family, netmask),
      ...services.totals(index),
      perSecond: services.totals(index, TOTAL_COUNT),
      dests: this.#destsOf(index),
    }
  }

  #destsOf(service: number): readonly DestEntry[] {
    const [from = 0, to = 0] = this.destStart.subarray(service, service + 2)
    return Array.from({ length: to - from }, (_, offset) => {
      const index = from + offset
      const words = this.dests.ids.subarray(index * IDENTITY_WORDS, (index + 1) * IDENTITY_WORDS)
      const figures = this.dests.figures.subarray(index * DEST_FIGURES)
      return {
        address: addressOfWords((words[0] ?? 0) & 0xff, words.subarray(2)),
        port: words[1] ?? 0,
        forwarding: (figures[FIGURE.forwarding] ?? 0) & FORWARDING_MASK,
        weight: figures[FIGURE.weight] ?? 0,
        active: figures[FIGURE.active] ?? 0,
        inactive: figures[FIGURE.inactive] ?? 0,
        persistent: figures[FIGURE.persistent] ?? 0,
        ...this.dests.totals(index),
        perSecond: this.dests.totals(index, TOTAL_COUNT),
      }
    })
  }
}
