import type { Worker } from 'node:worker_threads'
import type { ConfigStore } from '../../storage/config/config-store.ts'
import type { Clock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import type { ApplyEngine } from '../config/apply.ts'
import type { Draft } from '../config/draft.ts'
import { type Editing, originOf } from '../config/editing.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { freePlace } from '../http/listening.ts'
import type { L7Backend } from '../model/layer7.ts'
import type { Settings } from '../settings.ts'
import { endDemoThread, startDemoThread } from './demo-thread.ts'
import { reasonOf } from '../base/reason.ts'

const PREFERRED_PORT = 8080
const REQUESTS_PER_SECOND = 20
const META_KEY = 'demo'
const WANTED_KEY = 'demoWanted'

/** The records and ports of the demonstration, kept for its removal. */
interface DemoRecord {
  readonly originPorts: readonly [number, number]
  readonly frontendPort: number
  readonly rips: readonly string[]
  readonly backend: string
  readonly frontend: string
}

export interface DemoParts {
  readonly settings: Pick<Settings, 'beside'>
  readonly store: ConfigStore
  readonly editing: Editing
  readonly engine: ApplyEngine
  readonly membership: { readonly hasOthers: boolean }
  readonly clock: Clock
  readonly log: Log
}

/** A demonstration: two origins, a backend, a frontend and light traffic, created through ordinary staged changes. */
export class Demo {
  readonly #parts: DemoParts
  #worker: Worker | undefined

  constructor(parts: DemoParts) {
    this.#parts = parts
  }

  get #record(): DemoRecord | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by #create only
    return (this.#parts.store.getMeta(META_KEY) ?? undefined) as DemoRecord | undefined
  }

  /** Whether a demonstration was requested and not removed. */
  get exists(): boolean {
    return this.#record !== undefined || this.#parts.store.getMeta(WANTED_KEY) === true
  }

  /**
   * Starts the demonstration; returns the URL of its frontend, or undefined when it cannot be created now; the next
   * start tries again.
   */
  async start(): Promise<string | undefined> {
    try {
      return await this.#start()
    } catch (error) {
      this.close()
      await this.#parts.store.putMeta(WANTED_KEY, true)
      const reason = reasonOf(error)
      this.#parts.log.warn('the demonstration could not be created; the next start tries again', { reason })
      return undefined
    }
  }

  async #start(): Promise<string> {
    const known = this.#record
    // Nodes that share one machine share the origins as well, which outlive each of them.
    const apart = this.#parts.settings.beside?.demo
    const frontendPort = known?.frontendPort ?? apart?.frontend ?? (await freePort(PREFERRED_PORT))
    const url = `http://127.0.0.1:${frontendPort}/`
    const originPorts = apart?.origins ?? (await this.#startOrigins(known?.originPorts ?? [0, 0], url))
    if (known !== undefined) return url
    try {
      await this.#create(originPorts, frontendPort)
      return url
    } catch (error) {
      // Another program may have been faster to take the port, such as a second daemon in trial.
      if (apart !== undefined || (await isFree(frontendPort))) throw error
      this.close()
      return await this.#start()
    }
  }

  async #startOrigins(ports: readonly [number, number], url: string): Promise<readonly [number, number]> {
    const data = { originPorts: ports, frontendUrls: [url], requestsPerSecond: REQUESTS_PER_SECOND }
    const { worker, originPorts } = await startDemoThread(data)
    this.#worker = worker
    return originPorts
  }

  /** Removes the demonstration: configuration, origins and traffic. No other pending change is applied. */
  async remove(by: string): Promise<void> {
    const { membership } = this.#parts
    const record = this.#record
    if (!this.exists && membership.hasOthers) {
      const message = 'This node has no demonstration; in a cluster, send the request to the node that created it'
      throw new ApiError('NOT_SUPPORTED', message)
    }
    if (record !== undefined) {
      await this.#enact(by, 'demo.remove', record, 'demonstration removed', (draft) => {
        if (draft.section('l7Frontends').find(record.frontend)) draft.section('l7Frontends').remove(record.frontend)
        if (draft.section('l7Backends').find(record.backend)) draft.section('l7Backends').remove(record.backend)
        for (const id of record.rips) if (draft.section('realServers').find(id)) draft.section('realServers').remove(id)
      })
    }
    await this.#parts.store.putMeta(META_KEY, null)
    await this.#parts.store.putMeta(WANTED_KEY, null)
    this.close()
  }

  close(): void {
    if (this.#worker !== undefined) endDemoThread(this.#worker)
    this.#worker = undefined
  }

  async #create(originPorts: readonly [number, number], frontendPort: number): Promise<void> {
    const record: DemoRecord = {
      originPorts,
      frontendPort,
      rips: [newId(), newId()],
      backend: newId(),
      frontend: newId(),
    }
    await this.#enact('demo', 'demo.start', record, 'demonstration', (draft) => stage(draft, record))
    await this.#parts.store.putMeta(META_KEY, record)
  }

  /** Edits and applies the demonstration's own records; if the apply is refused, the edits are taken back. */
  async #enact(
    by: string,
    endpoint: string,
    record: DemoRecord,
    comment: string,
    work: (draft: Draft) => void,
  ): Promise<void> {
    const { editing, engine, clock } = this.#parts
    const ids = new Set([record.frontend, record.backend, ...record.rips])
    // Edits by others in the meantime are neither applied nor taken back.
    const isMine = (change: { readonly key: string; readonly endpoint: string }) =>
      ids.has(change.key) && change.endpoint === endpoint
    const origin = originOf(by, endpoint, clock)
    await editing.edit(origin, undefined, work)
    try {
      await engine.apply({ force: undefined, comment }, { by, address: undefined }, isMine)
    } catch (error) {
      await editing.takeBack(isMine, origin)
      throw error
    }
  }
}

function stage(draft: Draft, record: DemoRecord): void {
  for (const [i, id] of record.rips.entries()) {
    const port = record.originPorts[i] ?? null
    draft.section('realServers').create({
      id,
      name: `demo-origin-${i + 1}`,
      ip: '127.0.0.1',
      port,
      weight: 100,
      state: 'online',
    })
  }
  const backend: L7Backend = {
    id: record.backend,
    name: 'demo-backend',
    mode: 'http',
    balance: 'roundrobin',
    persistence: { type: 'none' },
    reals: record.rips.map((ripId) => ({ ripId })),
    healthCheck: { type: 'http', path: '/health', interval: 2 },
    fallback: null,
    timeoutConnect: 5,
    timeoutServer: 30,
    enabled: true,
  }
  draft.section('l7Backends').create(backend)
  draft.section('l7Frontends').create({
    id: record.frontend,
    name: 'demo-frontend',
    mode: 'http',
    ip: '127.0.0.1',
    ports: String(record.frontendPort),
    defaultBackendId: record.backend,
    maxConn: null,
    timeoutClient: 30,
    forwardFor: true,
    enabled: true,
  })
}

const placeAt = (port: number) => freePlace({ host: '127.0.0.1', port })

/** Returns the preferred port if it is free, else one that the system chooses. */
async function freePort(preferred: number): Promise<number> {
  const { port } = await placeAt(preferred).catch(() => placeAt(0))
  return port
}

const isFree = (port: number): Promise<boolean> =>
  placeAt(port).then(
    () => true,
    () => false,
  )
