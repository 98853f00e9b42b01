import { type Fields, idOf, NOTHING, numberOf, textsOf } from './fields.ts'
import type { CallOptions, Gateways } from './gateways.ts'
import { KeptLease } from './kept-lease.ts'

export interface Lease {
  readonly id: string
  /** What etcd grants, which is never less than its shortest, about 2 s. */
  readonly ttl_s: number
}

export interface LeaseFacts {
  /** Seconds until it ends if nobody keeps it. */
  readonly left_s: number
  readonly ttl_s: number
  /** Keys that go with it. */
  readonly keys: readonly Uint8Array[]
}

/** Leases: keys that are put with one go when nobody keeps it any more. Rejects with `EtcdError`. */
export class Leases {
  readonly #gateways: Gateways

  constructor(gateways: Gateways) {
    this.#gateways = gateways
  }

  async grant(ttl_s: number, options?: CallOptions): Promise<Lease> {
    const call = { path: 'lease/grant', fields: { TTL: ttl_s }, isWrite: true }
    return await this.#gateways.ask(call, leaseOf, options)
  }

  /** Begins its time anew, once. Answers the seconds that it has now, 0 when there is no such lease. */
  async keepAlive(id: string, options?: CallOptions): Promise<number> {
    const call = { path: 'lease/keepalive', fields: { ID: id } }
    return await this.#gateways.ask(call, (fields) => numberOf(fields, 'TTL'), options)
  }

  /** Keeps it again and again until it is closed or lost; the lease itself stays until it ends or is revoked. */
  keep(lease: Lease): KeptLease {
    return new KeptLease({ ...lease, keepAlive: async (timeout_ms) => await this.keepAlive(lease.id, { timeout_ms }) })
  }

  /** Ends it, and deletes its keys. One that is not there is `refused` with code 5. */
  async revoke(id: string, options?: CallOptions): Promise<void> {
    await this.#gateways.ask({ path: 'lease/revoke', fields: { ID: id }, isWrite: true }, NOTHING, options)
  }

  /** Undefined when there is no such lease. */
  async timeToLive(id: string, options?: CallOptions): Promise<LeaseFacts | undefined> {
    return await this.#gateways.ask({ path: 'lease/timetolive', fields: { ID: id, keys: true } }, factsOf, options)
  }
}

const leaseOf = (fields: Fields): Lease => ({ id: idOf(fields, 'ID'), ttl_s: numberOf(fields, 'TTL') })

function factsOf(fields: Fields): LeaseFacts | undefined {
  const left_s = numberOf(fields, 'TTL')
  if (left_s < 0) return undefined
  const keys = textsOf(fields, 'keys').map((key) => Buffer.from(key, 'base64'))
  return { left_s, ttl_s: numberOf(fields, 'grantedTTL'), keys }
}
