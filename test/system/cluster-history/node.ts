/**
 * A node of a cluster without its API, in its own process: its folder, its share of the log, and editors who edit at
 * random. `lines.ts` defines its protocol.
 */
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../src/base/clock.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { createLog } from '../../../src/base/log.ts'
import { digestOf } from '../../../src/cluster/checkpoint.ts'
import { ClusterLog } from '../../../src/cluster/cluster-log.ts'
import type { ClusterLogParts } from '../../../src/cluster/cluster-log-parts.ts'
import { ClusterKeys } from '../../../src/cluster/sealing.ts'
import { EtcdClient } from '../../../src/etcd/client.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { seededRandom } from '../../storage/archive/reference-model.ts'
import { Editor, Refused } from './editor.ts'
import { type NodeLine, type NodeSettings, type NodeShown, now_us, type Outcome, row } from './lines.ts'

/** Two edit concurrently; otherwise an edit would never wait for another of its node. */
const EDITORS = 2
const PAUSE_MS_MAX = 100
const TIMEOUT_MS = 3_000

// A write to a pipe is complete when this returns.
const say = (line: NodeLine) => process.stdout.write(`${JSON.stringify(line)}\n`)

/** Accepts every entry, whatever was written since: the log without its guard. */
const unguarded = (etcd: EtcdClient): ClusterLogParts['etcd'] => ({
  range: (span, options) => etcd.range(span, options),
  put: (key, value, options) => etcd.put(key, value, options),
  delete: (span, options) => etcd.delete(span, options),
  watch: (span, options) => etcd.watch(span, options),
  transact: ({ success = [] }, options) => etcd.transact({ success }, options),
})

function outcomeOf(error: unknown): readonly [Outcome, why: string] {
  if (error instanceof Refused) return ['refused', error.message]
  if (error instanceof ApiError && ['NO_QUORUM', 'TOO_MANY_AT_ONCE'].includes(error.code)) {
    const { message } = error
    // By a node that is being closed, and does not carry it out itself any more.
    if (message.includes('was written and is in effect')) return ['answered', message]
    return [message.includes('is unknown') ? 'unknown' : 'refused', message]
  }
  return ['broken', error instanceof Error ? (error.stack ?? error.message) : String(error)]
}

class Node {
  readonly #settings: NodeSettings
  readonly #store: LmdbConfigStore
  readonly #etcd: EtcdClient
  #log: ClusterLog | undefined
  #isResting = false
  #editing: Promise<unknown> = Promise.resolve()

  constructor(settings: NodeSettings) {
    const { folder, gateways, credentials } = settings
    this.#settings = settings
    this.#store = new LmdbConfigStore(folder)
    this.#etcd = new EtcdClient({ gateways, credentials, timeout_ms: TIMEOUT_MS })
  }

  async start(): Promise<void> {
    const { prefix, seed } = this.#settings
    this.#log = await this.#opened()
    this.#store.orderBy(this.#log)
    say({ did: 'ready' })
    const editors = Array.from({ length: EDITORS }, (_, index) => this.#edit(`${prefix}-${index}`, seed + index))
    this.#editing = Promise.all(editors)
  }

  /** It cannot be opened without a majority, so it is retried until there is one. */
  async #opened(): Promise<ClusterLog> {
    const { id, clusterId, key, history, checkpointEvery, isUnguarded } = this.#settings
    const etcd = isUnguarded ? unguarded(this.#etcd) : this.#etcd
    const keys = new ClusterKeys(clusterId, [key])
    const log = createLog((line) => process.stderr.write(line))
    const parts = { nodeId: id, history: () => history, checkpointEvery, keys, etcd, clock: systemClock, log }
    for (;;) {
      try {
        return await ClusterLog.open({ ...parts, folding: this.#store.folding })
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error
        await sleep(100)
      }
    }
  }

  async #edit(name: string, seed: number): Promise<void> {
    const random = seededRandom(seed)
    const editor = new Editor(this.#store, name, random)
    for (let count = 0; !this.#isResting; count++) {
      const operation = `${name}-${count}`
      const { kind, decide } = editor.next(operation)
      // Its view may be old when its turn comes.
      if (random() < 0.3) await sleep(random() * PAUSE_MS_MAX)
      say({ did: 'begin', operation, kind, at_us: now_us() })
      const [outcome, why] = await editor.carryOut(operation, decide).then(() => ['answered', ''] as const, outcomeOf)
      say({ did: 'end', operation, outcome, why, at_us: now_us() })
      await sleep(random() * PAUSE_MS_MAX)
    }
  }

  async rest(): Promise<void> {
    this.#isResting = true
    await this.#editing
    say({ did: 'rest' })
  }

  async show(): Promise<void> {
    const { folding } = this.#store
    const { position } = folding
    const { sequence, revision, running, candidate, frozen, revisions } = folding.snapshot()
    const shown: NodeShown = {
      position,
      halted: this.#log?.halted ?? '',
      digest: await digestOf(folding.records()),
      sequence,
      revision,
      unconfirmed: this.#store.unconfirmed()?.applyId ?? '',
      running: running.map(({ key, stored }) => row(key, stored.revision, stored.value)),
      pending: candidate.map((change) => {
        const { key, changeId, actor, others, endpoint, stored } = change
        return row(key, changeId, change.revision, actor, others, endpoint, stored?.value)
      }),
      frozen: frozen.flatMap(({ applyId, changes }) =>
        changes.map(({ id, key, before, after }) => row(applyId, id, key, before?.value, after)),
      ),
      revisions: revisions.map(({ changes, ...header }) => {
        const values = changes.map(({ key, before, after }) => ({ key, before, after }))
        return row(header.revision, header.applyId, header.by, values)
      }),
    }
    say({ did: 'show', shown })
  }

  /** In the middle of edits, as a daemon is ended. */
  async end(): Promise<void> {
    await this.#log?.close()
    this.#etcd.close()
    await this.#store.close()
    process.exit(0)
  }
}

let node: Node | undefined
createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (node === undefined) {
      // Sound: the test writes it.
      node = new Node(JSON.parse(line) as NodeSettings)
      void node.start()
    } else if (line === 'rest') void node.rest()
    else if (line === 'show') void node.show()
    else if (line === 'end') void node.end()
  })
  .on('close', () => process.exit(1))
