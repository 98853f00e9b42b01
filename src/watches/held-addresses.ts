import { networkInterfaces } from 'node:os'
import type { Clock } from '../base/clock.ts'
import { canonicalIp } from '../base/ip-network.ts'
import type { Log } from '../base/log.ts'
import { Repeated } from '../base/repeated.ts'
import type { ConfigView } from '../model/sections.ts'
import type { EventData } from '../model/job.ts'

export interface HeldAddressesParts {
  readonly nodeId: string
  readonly running: ConfigView
  readonly tell: (data: EventData<'address'>) => void
  readonly clock: Pick<Clock, 'now_ms'>
  readonly log: Log
  /** Returns the current addresses of this machine's interfaces. */
  readonly own?: () => Iterable<string>
}

const LOOK_EVERY_MS = 250

/**
 * The floating IPs that this node holds. The kernel is asked rather than keepalived: it also knows those that only this
 * node has, and those from before this daemon started.
 */
export class HeldAddresses {
  readonly #parts: HeldAddressesParts
  readonly #looks: Repeated
  /** The times since when, in ISO 8601, by address. */
  readonly #since = new Map<string, string>()
  #isFirst = true

  constructor(parts: HeldAddressesParts) {
    this.#parts = parts
    this.#looks = new Repeated('the floating IPs of this node', () => this.look(), LOOK_EVERY_MS, parts.log)
  }

  start(): void {
    this.look()
    this.#looks.start()
  }

  close(): void {
    this.#looks.stop()
  }

  get held() {
    return [...this.#since].map(([ip, since]) => ({ ip, since }))
  }

  look(): void {
    const { nodeId, running, tell, clock, own = ownAddresses } = this.#parts
    const floating = [...running.list('floatingIps')]
    if (floating.length === 0 && this.#since.size === 0) return
    const here = new Set(own())
    const enabled = new Map(floating.filter((one) => one.enabled).map(({ id, ip }) => [canonicalIp(ip), id]))
    const since = new Date(clock.now_ms()).toISOString()
    for (const [ip, floatingIpId] of enabled) {
      if (!here.has(ip) || this.#since.has(ip)) continue
      this.#since.set(ip, since)
      // Addresses that are present when the daemon starts have not moved.
      if (!this.#isFirst) tell({ state: 'taken', ip, floatingIpId, nodeId })
    }
    for (const ip of this.#since.keys()) {
      if (here.has(ip) && enabled.has(ip)) continue
      this.#since.delete(ip)
      tell({ state: 'given away', ip, floatingIpId: enabled.get(ip), nodeId })
    }
    this.#isFirst = false
  }
}

function* ownAddresses(): Generator<string> {
  for (const addresses of Object.values(networkInterfaces())) {
    for (const { address } of addresses ?? []) yield canonicalIp(address)
  }
}
