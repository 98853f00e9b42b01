import { type Fields, idOf, NOTHING, numberOf } from './fields.ts'
import type { CallOptions, Gateways } from './gateways.ts'

export interface Lease {
  readonly id: string
  /** The granted time, which is never less than etcd's minimum, about 2 s. */
  readonly ttl_s: number
}

/** Leases: keys put with one are deleted when it ends. Rejects with `EtcdError`. */
export class Leases {
  readonly #gateways: Gateways

  constructor(gateways: Gateways) {
    this.#gateways = gateways
  }

  async grant(ttl_s: number, options?: CallOptions): Promise<Lease> {
    const call = { path: 'lease/grant', fields: { TTL: ttl_s }, isWrite: true }
    return await this.#gateways.ask(call, leaseOf, options)
  }

  /** Ends a lease, and deletes its keys. An unknown one is `refused` with code 5. */
  async revoke(id: string, options?: CallOptions): Promise<void> {
    await this.#gateways.ask({ path: 'lease/revoke', fields: { ID: id }, isWrite: true }, NOTHING, options)
  }
}

const leaseOf = (fields: Fields): Lease => ({ id: idOf(fields, 'ID'), ttl_s: numberOf(fields, 'TTL') })
