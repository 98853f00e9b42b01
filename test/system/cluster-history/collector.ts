import { setTimeout as sleep } from 'node:timers/promises'
import { decodeEnvelope } from '../../../src/cluster/envelope.ts'
import { LargeValues } from '../../../src/cluster/large-values.ts'
import { positionOf } from '../../../src/cluster/places.ts'
import type { ClusterKeys } from '../../../src/cluster/sealing.ts'
import type { EtcdClient } from '../../../src/etcd/client.ts'
import type { Watch, WatchEvent } from '../../../src/etcd/watch.ts'
import type { Found } from './checker.ts'

const LOG = '/f/log/'
const PART = '/f/part/'
/** A watch of etcd may lose an event, and then reports it when asked again; a gap in the log stays. */
const TRIES = 3

/** Follows the log as it is written, because checkpoints delete old entries. */
export class Collector {
  readonly found: Found[] = []
  /** Of etcd: older revisions are not needed. */
  revision = 0
  readonly #etcd: EtcdClient
  readonly #values: LargeValues
  readonly #parts = new Map<string, Uint8Array>()
  readonly #following: Promise<void>
  #watch: Watch | undefined
  #isClosed = false
  #tries = 0

  constructor(etcd: EtcdClient, keys: ClusterKeys) {
    this.#etcd = etcd
    const range: EtcdClient['range'] = async (span) => {
      const key = 'key' in span ? String(span.key) : ''
      const value = this.#parts.get(key)
      const kvs = value === undefined ? [] : [{ ...NO_KEY, key: Buffer.from(key), value }]
      return { revision: 0, kvs, hasMore: false, count: kvs.length }
    }
    const nothing = () => Promise.reject(new Error('who reads along writes nothing'))
    this.#values = new LargeValues({ range, put: nothing, delete: nothing }, keys)
    this.#following = this.#follow()
  }

  get position(): number {
    return this.found.at(-1)?.position ?? 0
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#watch?.close()
    await this.#following
  }

  async #follow(): Promise<void> {
    while (!this.#isClosed) {
      try {
        this.#watch = await this.#etcd.watch({ prefix: '/f/' }, { from: this.revision + 1 })
        // It may have been closed while the watch was opened.
        if (this.#isClosed) this.#watch.close()
        for await (const report of this.#watch) if (report.kind === 'events') await this.#takeAll(report.events)
      } catch {
        // Members come and go.
        await sleep(100)
      }
    }
  }

  async #takeAll(events: readonly WatchEvent[]): Promise<void> {
    for (const { kind, kv } of events) {
      if (this.#isClosed) return
      const name = Buffer.from(kv.key).toString()
      if (name.startsWith(PART)) {
        if (kind === 'put') this.#parts.set(name, kv.value)
        else this.#parts.delete(name)
      }
      if (name.startsWith(LOG) && kind === 'put') await this.#take(positionOf(name), name, kv.value)
      this.revision = kv.modRevision
    }
  }

  async #take(position: number, name: string, value: Uint8Array): Promise<void> {
    if (position > this.position + 1 && this.#tries < TRIES) {
      this.#tries += 1
      throw new Error('an event was lost')
    }
    this.#tries = 0
    const { entry } = decodeEnvelope(await this.#values.opened(name, value, position))
    this.found.push({ position, entry })
  }
}

const NO_KEY = { createRevision: 0, modRevision: 0, version: 0, lease: '0' }
