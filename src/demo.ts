import { createServer } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { ConfigStore } from '../storage/config/config-store.ts'
import type { DemoCommand, DemoData, DemoReport } from '../workers/demo.ts'
import type { Clock } from './clock.ts'
import type { ApplyEngine } from './config/apply.ts'
import type { Draft } from './config/draft.ts'
import type { Editing } from './config/editing.ts'
import { newId } from './ids.ts'
import type { Log } from './log.ts'
import type { L7Backend } from './model/layer7.ts'

const PREFERRED_PORT = 8080
const REQUESTS_PER_SECOND = 20
const META_KEY = 'demo'

/** What was made for the demonstration, so that it can be taken away again. */
interface DemoRecord {
  readonly originPorts: readonly [number, number]
  readonly frontendPort: number
  readonly rips: readonly string[]
  readonly backend: string
  readonly frontend: string
}

export interface DemoParts {
  readonly store: ConfigStore
  readonly editing: Editing
  readonly engine: ApplyEngine
  readonly clock: Clock
  readonly log: Log
}

/** Two origins, a backend, a frontend and light traffic, made through the same staged changes that everybody uses. */
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

  /** Whether a demonstration was made and not removed. */
  get exists(): boolean {
    return this.#record !== undefined
  }

  /** URL of the demonstration's frontend; undefined when nothing could be started. */
  async start(): Promise<string | undefined> {
    const known = this.#record
    const frontendPort = known?.frontendPort ?? (await freePort(PREFERRED_PORT))
    const url = `http://127.0.0.1:${frontendPort}/`
    const report = await this.#startWorker({
      originPorts: known?.originPorts ?? [0, 0],
      frontendUrl: url,
      requestsPerSecond: REQUESTS_PER_SECOND,
    })
    if (report.type === 'failed') {
      this.#parts.log.warn('the demonstration cannot start', { reason: report.message })
      return undefined
    }
    if (known === undefined) await this.#create(report.originPorts, frontendPort)
    return url
  }

  /** Takes the demonstration away: traffic, origins and configuration. Nothing else that is pending is applied. */
  async remove(by: string): Promise<void> {
    const record = this.#record
    this.stop()
    if (record === undefined) return
    const mine = new Set([record.frontend, record.backend, ...record.rips])
    await this.#edit(by, 'demo.remove', (draft) => {
      if (draft.section('l7Frontends').find(record.frontend)) draft.section('l7Frontends').remove(record.frontend)
      if (draft.section('l7Backends').find(record.backend)) draft.section('l7Backends').remove(record.backend)
      for (const id of record.rips) if (draft.section('realServers').find(id)) draft.section('realServers').remove(id)
    })
    await this.#apply(by, mine, 'demonstration removed')
    await this.#parts.store.putMeta(META_KEY, null)
  }

  stop(): void {
    this.#worker?.postMessage({ type: 'stop' } satisfies DemoCommand)
    this.#worker = undefined
  }

  #startWorker(data: DemoData): Promise<DemoReport> {
    const worker = new Worker(new URL('../workers/demo.ts', import.meta.url), { workerData: data })
    worker.unref()
    this.#worker = worker
    return new Promise((resolve) => {
      worker.once('message', (report: DemoReport) => resolve(report))
      worker.once('error', (error: Error) => resolve({ type: 'failed', message: error.message }))
    })
  }

  async #create(originPorts: readonly [number, number], frontendPort: number): Promise<void> {
    const rips = [newId(), newId()] as const
    const record: DemoRecord = { originPorts, frontendPort, rips, backend: newId(), frontend: newId() }
    await this.#parts.store.putMeta(META_KEY, record)
    await this.#edit('demo', 'demo.start', (draft) => stage(draft, record))
    const mine = new Set([record.frontend, record.backend, ...rips])
    await this.#apply('demo', mine, 'demonstration')
  }

  #edit(actor: string, endpoint: string, work: (draft: Draft) => void): Promise<void> {
    const at = new Date(this.#parts.clock.now_ms()).toISOString()
    return this.#parts.editing.edit({ actor, endpoint, at }, undefined, work)
  }

  async #apply(by: string, ids: ReadonlySet<string>, comment: string): Promise<void> {
    await this.#parts.engine.apply({ force: undefined, comment }, by, (change) => ids.has(change.key))
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

/** The preferred port when nobody has it, else one the system chooses. */
function freePort(preferred: number): Promise<number> {
  const attempt = (port: number) =>
    new Promise<number>((resolve, reject) => {
      const server = createServer()
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        const address = server.address()
        const bound = typeof address === 'object' && address !== null ? address.port : port
        server.close(() => resolve(bound))
      })
    })
  return attempt(preferred).catch(() => attempt(0))
}
