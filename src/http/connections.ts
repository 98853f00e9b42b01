import type { TemplatedApp } from 'uWebSockets.js'
import { descriptorsMax } from '../base/descriptors.ts'
import { placeOfBytes, socketsByPlace } from './socket-table.ts'

/** Far more than there are pollers. Measured: a connection with TLS takes some 6 KB of ours, plus kernel buffers. */
const CONNECTIONS_MAX = 16_384
/** Descriptors that the daemon reserves for files, stores, threads and programs; at most half of a small limit. */
const OWN_DESCRIPTORS = 512
/** One address gets at most this fraction: it must not take all, but many clients may share a proxy. */
const SHARE = 4
/** With threads in front, a connection with an open request also needs both ends of one to the thread behind. */
const DESCRIPTORS_IN_FRONT = 3
/** Minimum time between two queries to the kernel. */
const LOOK_EVERY_MS = 1_000

export interface ConnectionBounds {
  readonly all_max: number
  /** Connections of one IPv4 address, or one IPv6 /64. */
  readonly each_max: number
}

/** Returns the connections that the descriptors of this process allow, for each thread in front if there are any. */
export function connectionBounds(descriptors = descriptorsMax(), fronts = 0): ConnectionBounds {
  const own = Math.min(OWN_DESCRIPTORS, Math.floor(descriptors / 2))
  const left = Math.floor((descriptors - own) / (fronts > 0 ? DESCRIPTORS_IN_FRONT : 1))
  const all_max = Math.floor(Math.min(CONNECTIONS_MAX, left) / Math.max(1, fronts))
  return { all_max, each_max: Math.floor(all_max / SHARE) }
}

/**
 * Limits open connections in total and by address. uWebSockets.js reports when a connection ends, but not its address:
 * so the count of an address falls only to the number of all open connections, and near its limit the kernel is asked
 * for the true count.
 */
export class Connections {
  readonly #bounds: ConnectionBounds
  readonly #threads: number
  readonly #look: (ports: ReadonlySet<number>) => Promise<ReadonlyMap<string, number>>
  readonly #ports = new Set<number>()
  #counts = new Map<string, number>()
  /** Connections opened while the kernel is asked. */
  #meanwhile: Map<string, number> | undefined
  #looked_ms = Number.NEGATIVE_INFINITY
  #open = 0
  #refused = 0

  /** `threads`: the connections are spread evenly over this many threads, each with limits of its own. */
  constructor(bounds: ConnectionBounds, look = socketsByPlace, threads = 1) {
    this.#bounds = bounds
    this.#look = look
    this.#threads = threads
  }

  get open(): number {
    return this.#open
  }

  /** Connections refused since the start. */
  get refused(): number {
    return this.#refused
  }

  /** Ends every connection beyond the limits before anything is read from it. */
  watch(app: TemplatedApp, port: number): void {
    this.#ports.add(port)
    app.filter((response, step) => {
      if (Number(step) < 0) this.closed()
      else if (!this.opened(placeOfBytes(new Uint8Array(response.getRemoteAddress())))) response.close()
    })
  }

  /** Returns whether the connection may stay. It counts either way until it is closed. */
  opened(place: string): boolean {
    const { all_max, each_max } = this.#bounds
    this.#open += 1
    // Nobody holds more than are open, so a busy address that opens and closes is refused for none of those that ended.
    const count = Math.min((this.#counts.get(place) ?? 0) + 1, this.#open)
    const mayStay = count <= each_max && this.#open <= all_max
    if (mayStay) {
      this.#counts.set(place, count)
      this.#meanwhile?.set(place, (this.#meanwhile.get(place) ?? 0) + 1)
    } else this.#refused += 1
    if (count > each_max * 0.75 || this.#counts.size > all_max) void this.#recount()
    return mayStay
  }

  closed(): void {
    this.#open -= 1
    if (this.#open === 0) this.#counts.clear()
  }

  async #recount(): Promise<void> {
    if (this.#meanwhile !== undefined || performance.now() - this.#looked_ms < LOOK_EVERY_MS) return
    const meanwhile = (this.#meanwhile = new Map<string, number>())
    try {
      const counts = new Map<string, number>()
      // The kernel counts those of all threads.
      for (const [place, count] of await this.#look(this.#ports)) counts.set(place, Math.ceil(count / this.#threads))
      for (const [place, count] of meanwhile) counts.set(place, (counts.get(place) ?? 0) + count)
      this.#counts = counts
    } catch {
      // Without an answer from the kernel, the count of an address is kept, and reset when no connection is left.
    } finally {
      this.#meanwhile = undefined
      this.#looked_ms = performance.now()
    }
  }
}
