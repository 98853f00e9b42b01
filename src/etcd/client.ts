import { headerRevision, NOTHING, numberOf } from './fields.ts'
import type { Credentials } from './gateway.ts'
import { type CallOptions, Gateways, type GatewaysParts } from './gateways.ts'
import { Leases } from './leases.ts'
import { Maintenance } from './maintenance.ts'
import { Members } from './members.ts'
import { type Bytes, type Span, spanFields } from './span.ts'
import {
  putFields,
  type RangeAnswer,
  rangeAnswer,
  rangeFields,
  type RangeOptions,
  type Transaction,
  type TransactionAnswer,
  transactionAnswer,
  transactionFields,
} from './transaction.ts'
import { openWatch, type Watch, type WatchOptions } from './watch.ts'

/**
 * A client of etcd over the JSON gateways of its members. A call that a member cannot take goes to the next one; a
 * write that may have been executed is not repeated but rejects with `unknown-outcome`: the caller checks. Rejects with
 * `EtcdError`.
 */
export class EtcdClient {
  readonly leases: Leases
  readonly members: Members
  readonly maintenance: Maintenance
  readonly #gateways: Gateways

  constructor(parts: GatewaysParts) {
    this.#gateways = new Gateways(parts)
    this.leases = new Leases(this.#gateways)
    this.members = new Members(this.#gateways)
    this.maintenance = new Maintenance(this.#gateways)
  }

  /** Reads keys; linearizable, unless the options ask for a serializable read. */
  async range(span: Span, options: RangeOptions & CallOptions = {}): Promise<RangeAnswer> {
    const fields = rangeFields(span, options)
    const isLocal = options.isSerializable === true
    return await this.#gateways.ask({ path: 'kv/range', fields, isLocal }, rangeAnswer, options)
  }

  /** Writes a key. Returns the new revision. */
  async put(key: Bytes, value: Bytes, options: CallOptions & { readonly lease?: string } = {}): Promise<number> {
    const fields = putFields(key, value, options.lease)
    return await this.#gateways.ask({ path: 'kv/put', fields, isWrite: true }, headerRevision, options)
  }

  /** Deletes keys. Returns their number. */
  async delete(span: Span, options?: CallOptions): Promise<number> {
    const call = { path: 'kv/deleterange', fields: spanFields(span), isWrite: true }
    return await this.#gateways.ask(call, (answer) => numberOf(answer, 'deleted'), options)
  }

  async transact(transaction: Transaction, options?: CallOptions): Promise<TransactionAnswer> {
    const call = { path: 'kv/txn', fields: transactionFields(transaction), isWrite: true }
    return await this.#gateways.ask(call, transactionAnswer, options)
  }

  /**
   * Removes the history before this revision. `isPhysical` waits until it is gone from the database. A revision that is
   * already compacted is refused as `compacted`.
   */
  async compact(revision: number, options: CallOptions & { readonly isPhysical?: boolean } = {}): Promise<void> {
    const fields = { revision, physical: options.isPhysical === true }
    await this.#gateways.ask({ path: 'kv/compaction', fields, isWrite: true }, NOTHING, options)
  }

  /** Resolves when a member has begun the watch. */
  async watch(span: Span, options: WatchOptions = {}): Promise<Watch> {
    return await openWatch(this.#gateways, span, options)
  }

  /** Uses the members at these URLs from now on, in this order. */
  use(gateways: readonly string[]): void {
    this.#gateways.use(gateways)
  }

  /** Presents another certificate from the next connection on. */
  present(credentials: Credentials): void {
    this.#gateways.present(credentials)
  }

  /** Ends watches; pending calls reject, writes with `unknown-outcome`, others with `closed`. */
  close(): void {
    this.#gateways.close()
  }
}
