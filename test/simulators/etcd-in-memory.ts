import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { ClusterLogParts } from '../../src/cluster/cluster-log-parts.ts'
import { EtcdError } from '../../src/etcd/errors.ts'
import type { CallOptions, Gateways } from '../../src/etcd/gateways.ts'
import { asBytes, base64, type Bytes, type Span, spanFields } from '../../src/etcd/span.ts'
import type {
  Comparison,
  KeyValue,
  Operation,
  OperationAnswer,
  RangeAnswer,
  RangeOptions,
  Transaction,
  TransactionAnswer,
} from '../../src/etcd/transaction.ts'
import { openWatch, type Watch, type WatchEvent, type WatchOptions } from '../../src/etcd/watch.ts'

/** The part of etcd that the cluster uses. */
export type ClusterEtcd = ClusterLogParts['etcd']

/**
 * `unreachable`: not executed, and reported as such. The others reject with `unknown-outcome` for writes: `lost before`
 * was never executed, `lost after` was, and `later` will be when `EtcdInMemory.late` is called. A promise: executed at
 * once, and answered when it resolves.
 */
export type Fault = 'unreachable' | 'full' | 'lost before' | 'lost after' | 'later' | Promise<unknown>

export interface Call {
  readonly kind: 'range' | 'transact' | 'put' | 'delete' | 'watch'
  /** The first key that it names. */
  readonly key: string
  /** How long the client waits; undefined: as long as for any other call. */
  readonly patience_ms?: number | undefined
}

/** Keys as text with one byte per letter: they compare as in etcd. */
type Key = string
const asKey = (bytes: Bytes): Key => Buffer.from(asBytes(bytes)).toString('latin1')
const ZERO = '\0'

/** From one key on, before another. */
type Range = readonly [from: Key, before: Key | undefined]

function rangeOf(span: Span): Range {
  const fields = spanFields(span)
  const [from, end] = [fields.key, fields.range_end].map((text) => asKey(Buffer.from(text ?? '', 'base64')))
  if (from === undefined || from === '') throw refused('key is not provided')
  if (fields.range_end === undefined) return [from, `${from}\0`]
  return [from, end === ZERO ? undefined : end]
}

const isIn = ([from, before]: Range, key: Key) => key >= from && (before === undefined || key < before)

const refused = (why: string) => new EtcdError('refused', `it refuses: ${why}`)
const compacted = () => new EtcdError('compacted', 'it has compacted that revision')

interface Watcher {
  readonly range: Range
  readonly tell: (revision: number, events: readonly WatchEvent[]) => unknown
}

/** Keys and their revisions, as all members of a healthy etcd agree on them. Nothing here takes time. */
export class EtcdInMemory {
  /** All versions of each key, oldest first; version 0 is a deleted one. */
  readonly #versions = new Map<Key, KeyValue[]>()
  /** All of them, in their order. */
  readonly #history: KeyValue[] = []
  readonly #watchers = new Set<Watcher>()
  #revision = 1
  #compacted = 0
  #later: (() => unknown)[] = []

  get revision(): number {
    return this.#revision
  }

  /** One node's access to it. */
  client(): EtcdOfNode {
    return new EtcdOfNode(this)
  }

  /** Drops older revisions. */
  compact(revision: number): void {
    if (revision <= this.#compacted) throw compacted()
    if (revision > this.#revision) throw refused('required revision is a future revision')
    this.#compacted = revision
  }

  /** Executes the writes that were deferred. */
  late(): void {
    const calls = this.#later
    this.#later = []
    for (const call of calls) call()
  }

  postpone(call: () => unknown): void {
    this.#later.push(call)
  }

  range(span: Span, options: RangeOptions = {}): RangeAnswer {
    const { limit = 0, revision = 0, keysOnly = false, countOnly = false } = options
    const at = revision === 0 ? this.#revision : revision
    if (at > this.#revision) throw refused('required revision is a future revision')
    if (at < this.#compacted) throw compacted()
    const found = this.#at(rangeOf(span), at)
    const shown = countOnly ? [] : found.slice(0, limit === 0 ? undefined : limit)
    return {
      revision: this.#revision,
      kvs: keysOnly ? shown.map((kv) => ({ ...kv, value: Buffer.alloc(0) })) : shown,
      hasMore: !countOnly && shown.length < found.length,
      count: found.length,
    }
  }

  transact({ compare = [], success = [], failure = [] }: Transaction): TransactionAnswer {
    const succeeded = compare.every((one) => this.#holds(one))
    const operations = succeeded ? success : failure
    const puts = operations.flatMap((one) => ('put' in one ? [asKey(one.put)] : []))
    if (new Set(puts).size < puts.length) throw refused('duplicate key given in txn request')
    const next = this.#revision + 1
    const events: WatchEvent[] = []
    const answers = operations.map((one) => this.#execute(one, next, events))
    if (events.length > 0) this.#tell(next, events)
    return { succeeded, revision: this.#revision, answers }
  }

  /** Past events arrive in one piece. */
  watch(range: Range, from: number, tell: Watcher['tell']): () => void {
    const past = this.#history.filter(({ key, modRevision }) => modRevision >= from && isIn(range, asKey(key)))
    if (past.length > 0) tell(this.#revision, past.map(asEvent))
    const watcher: Watcher = { range, tell: (revision, events) => revision >= from && tell(revision, events) }
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  get compactRevision(): number {
    return this.#compacted
  }

  #execute(operation: Operation, next: number, events: WatchEvent[]): OperationAnswer {
    if ('get' in operation) {
      // A read after a write of the same transaction finds the written value.
      const { get, options } = operation
      const before = this.#revision
      if (events.length > 0) this.#revision = next
      const range = this.range(get, options)
      this.#revision = before
      return { did: 'get', range }
    }
    if ('put' in operation) {
      const { put: key, value } = operation
      const before = this.#last(asKey(key))
      const isNew = before === undefined || before.version === 0
      const [createRevision, version] = isNew ? [next, 1] : [before.createRevision, before.version + 1]
      const kv = { key: asBytes(key), value: asBytes(value), createRevision, modRevision: next, version, lease: '0' }
      this.#add(kv, events)
      return { did: 'put' }
    }
    const gone = this.#at(rangeOf(operation.delete), next)
    const nothing = { value: Buffer.alloc(0), createRevision: 0, modRevision: next, version: 0, lease: '0' }
    for (const { key } of gone) this.#add({ key, ...nothing }, events)
    return { did: 'delete', deleted: gone.length }
  }

  #add(kv: KeyValue, events: WatchEvent[]): void {
    const key = asKey(kv.key)
    this.#versions.set(key, [...(this.#versions.get(key) ?? []), kv])
    this.#history.push(kv)
    events.push(asEvent(kv))
  }

  #tell(revision: number, events: readonly WatchEvent[]): void {
    this.#revision = revision
    for (const { range, tell } of this.#watchers) {
      const seen = events.filter(({ kv }) => isIn(range, asKey(kv.key)))
      if (seen.length > 0) tell(revision, seen)
    }
  }

  #last(key: Key): KeyValue | undefined {
    return this.#versions.get(key)?.at(-1)
  }

  #at(range: Range, revision: number): readonly KeyValue[] {
    return [...this.#versions]
      .filter(([key]) => isIn(range, key))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, versions]) => versions.findLast(({ modRevision }) => modRevision <= revision) ?? [])
      .filter(({ version }) => version > 0)
  }

  #holds(comparison: Comparison): boolean {
    const found = this.#last(asKey(comparison.key))
    const { is } = comparison
    if (comparison.of === 'value') {
      // Every comparison with a missing value is false.
      if (found === undefined || found.version === 0) return false
      return SIGNS[is].includes(Math.sign(Buffer.compare(found.value, asBytes(comparison.than))))
    }
    return SIGNS[is].includes(Math.sign((found?.version === 0 ? 0 : (found?.[comparison.of] ?? 0)) - comparison.than))
  }
}

const SIGNS: Readonly<Record<Comparison['is'], readonly number[]>> = { '=': [0], '!=': [-1, 1], '<': [-1], '>': [1] }

const asEvent = (kv: KeyValue): WatchEvent => ({ kind: kv.version === 0 ? 'delete' : 'put', kv })

/** One node's view of it, with its faults. Faults stay until they are removed. */
export class EtcdOfNode implements ClusterEtcd {
  readonly #etcd: EtcdInMemory
  readonly #watches = new Set<Readable>()
  #held: (() => void)[] | undefined
  /** All calls, in their order. */
  readonly calls: Call[] = []
  fault: (call: Call) => Fault | undefined = () => undefined
  /** Whether a watch loses an event. */
  loses: (event: WatchEvent) => boolean = () => false

  constructor(etcd: EtcdInMemory) {
    this.#etcd = etcd
  }

  async range(span: Span, options?: RangeOptions): Promise<RangeAnswer> {
    const call = { kind: 'range', key: nameOf(span) } as const
    return await this.#asked(call, () => this.#etcd.range(span, options))
  }

  async put(key: Bytes, value: Bytes): Promise<number> {
    const call = { kind: 'put', key: asText(key) } as const
    return await this.#asked(call, () => this.#etcd.transact({ success: [{ put: key, value }] }).revision)
  }

  async delete(span: Span): Promise<number> {
    return await this.#asked({ kind: 'delete', key: nameOf(span) }, () => {
      const [answer] = this.#etcd.transact({ success: [{ delete: span }] }).answers
      return answer?.did === 'delete' ? answer.deleted : 0
    })
  }

  async transact(transaction: Transaction, options: CallOptions = {}): Promise<TransactionAnswer> {
    const put = transaction.success?.find((one) => 'put' in one)
    const key = asText(put?.put ?? transaction.compare?.[0]?.key ?? '')
    const call = { kind: 'transact', key, patience_ms: options.timeout_ms } as const
    return await this.#asked(call, () => this.#etcd.transact(transaction))
  }

  /** The client's own reader of watches, fed with the bytes that a member would send. */
  async watch(span: Span, options: WatchOptions = {}): Promise<Watch> {
    const { from = this.#etcd.revision + 1 } = options
    return await this.#asked({ kind: 'watch', key: nameOf(span) }, async () => {
      const open: Gateways['open'] = async (_, begin) => await begin(this.#stream(span, from), 'memory')
      return await openWatch({ open } as Gateways, span, options)
    })
  }

  /** As when the member is gone. */
  endWatches(): void {
    for (const stream of this.#watches) stream.push(null)
  }

  /** Holds back later events until they are released. */
  holdWatches(): void {
    this.#held ??= []
  }

  releaseWatches(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const tell of held) tell()
  }

  /** Reports to all watches that nothing is missing up to now. */
  progress(): void {
    for (const stream of this.#watches) stream.push(line({ header: { revision: `${this.#etcd.revision}` } }))
  }

  #stream(span: Span, from: number): IncomingMessage {
    // A watch uses only `destroy` and the bytes of a response.
    const stream = new Readable({ read: () => undefined }) as IncomingMessage
    const header = { revision: `${this.#etcd.revision}` }
    stream.push(line({ header, created: true }))
    const { compactRevision } = this.#etcd
    if (from < compactRevision) {
      stream.push(line({ header, canceled: true, compact_revision: `${compactRevision}` }))
      return stream
    }
    this.#watches.add(stream)
    const push = (text: string) => {
      if (!stream.destroyed && !stream.readableEnded) stream.push(text)
    }
    const forget = this.#etcd.watch(rangeOf(span), from, (revision, events) => {
      const told = events.filter((event) => !this.loses(event))
      if (told.length === 0) return
      const text = line({ header: { revision: `${revision}` }, events: told.map(eventFields) })
      if (this.#held === undefined) push(text)
      else this.#held.push(() => push(text))
    })
    stream.once('close', () => {
      this.#watches.delete(stream)
      forget()
    })
    return stream
  }

  async #asked<T>(call: Call, execute: () => T | Promise<T>): Promise<T> {
    this.calls.push(call)
    // The caller continues later, as with a network.
    await Promise.resolve()
    const fault = this.fault(call)
    if (fault === undefined) return await execute()
    if (fault === 'full') throw new EtcdError('no-space', 'it has no space left')
    if (fault === 'unreachable') throw new EtcdError('unreachable', 'it refuses connections')
    if (typeof fault !== 'string') {
      const answer = await execute()
      await fault
      return answer
    }
    if (fault === 'lost after') await execute()
    if (fault === 'later') this.#etcd.postpone(execute)
    const isWrite = call.kind !== 'range' && call.kind !== 'watch'
    throw isWrite
      ? new EtcdError('unknown-outcome', 'it did not answer; it is unknown whether the write was executed')
      : new EtcdError('timeout', 'it did not answer')
  }
}

const asText = (bytes: Bytes) => Buffer.from(asBytes(bytes)).toString()

function nameOf(span: Span): string {
  if ('key' in span) return asText(span.key)
  return asText('prefix' in span ? span.prefix : span.from)
}

const line = (result: unknown) => `${JSON.stringify({ result })}\n`

/** As the gateway writes it: without fields that are 0 or empty. */
const eventFields = ({ kind, kv }: WatchEvent) => ({
  ...(kind === 'delete' ? { type: 'DELETE' } : {}),
  kv: {
    key: base64(kv.key),
    ...(kv.value.length === 0 ? {} : { value: base64(kv.value) }),
    mod_revision: `${kv.modRevision}`,
    ...(kind === 'delete' ? {} : { create_revision: `${kv.createRevision}`, version: `${kv.version}` }),
  },
})
