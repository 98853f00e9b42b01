import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../test/fixtures/traffic.ts'
import { CORE_METRICS } from '../../src/model/metrics.ts'
import { type BenchDaemon, createReals, startDaemon } from '../daemon.ts'
import { type DataSet, OBJECTS, type SampledObject, type Totals } from './data-set.ts'
import { type ArchiveName, fillArchive } from './fulcrum-archive.ts'
import { getText, type HttpServer, measureHttp } from './http-queries.ts'
import type { Footprint, Peer, Rate } from './peer.ts'
import { diskBytes } from './programs.ts'
import { TotalsBuilder } from './totals.ts'
import type { Query } from './windows.ts'

type Series = Readonly<Record<string, readonly (number | null)[]>>
interface Answer {
  readonly data: readonly { readonly series: Series }[] | { readonly reals: readonly { readonly series: Series }[] }
}

/** The daemon itself, over plain HTTP on loopback, with its token and role check. */
export class Fulcrum implements Peer {
  readonly name = 'Fulcrum'
  readonly asks = 'history, JSON'
  readonly #data: DataSet
  readonly #bench: BenchDaemon
  readonly #names = new Map<SampledObject, ArchiveName>()
  #server: HttpServer = { origin: '', headers: {} }

  private constructor(data: DataSet, bench: BenchDaemon) {
    this.#data = data
    this.#bench = bench
  }

  static async start(data: DataSet): Promise<Fulcrum> {
    const fulcrum = new Fulcrum(data, await startDaemon())
    await fulcrum.#configure()
    return fulcrum
  }

  /** Configures one frontend and two backends whose real servers are the other objects. */
  async #configure(): Promise<void> {
    const { daemon } = this.#bench
    const rips = await createReals(daemon, OBJECTS)
    const backends = new Map<string, string>()
    for (const group of ['a', 'b']) {
      const servers = this.#data.objects.filter((object) => object.kind === 'server' && object.group === group)
      const reals = servers.map(({ index }) => ({ ripId: rips[index] }))
      const body = { name: group, mode: 'http', reals, healthCheck: { type: 'none' } }
      backends.set(group, (await daemon.data('POST', '/layer7proxy/backends', body)).id)
    }
    const port = String(await freePort())
    const settings = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: port, defaultBackendId: backends.get('a') }
    const frontend = (await daemon.data('POST', '/layer7proxy/frontends', settings)).id
    await daemon.data('PUT', '/services/apply')
    for (const object of this.#data.objects) {
      const { kind, group, index } = object
      const backend = backends.get(group) ?? ''
      if (kind === 'frontend') this.#names.set(object, { kind, name: frontend, backend: '' })
      else if (kind === 'backend') this.#names.set(object, { kind, name: backend, backend: '' })
      else this.#names.set(object, { kind, name: rips[index] ?? '', backend })
    }
  }

  get server(): HttpServer {
    return this.#server
  }
  get livePath(): string {
    return `/api/v1/${this.#bench.daemon.node}/layer7proxy/stats`
  }

  #nameOf(object: SampledObject): ArchiveName {
    const name = this.#names.get(object)
    if (name === undefined) throw new Error(`${object.name} is not configured`)
    return name
  }

  async load(): Promise<Footprint> {
    const { daemon, plainPort } = this.#bench
    await daemon.kill('SIGTERM')
    const directory = join(daemon.state, 'archive')
    rmSync(directory, { recursive: true, force: true })
    await fillArchive(directory, this.#data, (object) => this.#nameOf(object))
    const kept_bytes = diskBytes(directory)
    await daemon.start()
    const headers = { Authorization: `Bearer ${await daemon.login()}` }
    this.#server = { origin: `http://127.0.0.1:${plainPort}`, headers }
    return { loadedBy: 'its own writer, simulated seconds', written_bytes: Number.NaN, kept_bytes }
  }

  path({ objects, step_s, start_s, end_s }: Query): string {
    const [first] = objects
    if (first === undefined) throw new Error('a query without objects')
    const { name, backend } = this.#nameOf(first)
    const what = objects.length > 1 ? `backend/${backend}` : name
    return `${this.livePath}/rips/${what}/history?start=${start_s}&end=${end_s}&resolution=${step_s}`
  }

  async ask(query: Query): Promise<Totals> {
    const { data } = JSON.parse(await getText(this.#server, this.path(query))) as Answer
    const totals = new TotalsBuilder()
    for (const { series } of 'reals' in data ? data.reals : data) {
      for (const [metric, name] of CORE_METRICS.entries())
        for (const value of series[name] ?? []) totals.add(metric, value)
    }
    return totals
  }

  measure(queries: readonly Query[], seconds: number, clients: number): Promise<Rate> {
    const paths = queries.map((query) => this.path(query))
    return measureHttp(this.#server, paths, seconds, clients)
  }

  /** History is requested as soon as the API answers; the archive thread may need a moment longer. */
  async restart(isRight: (peer: Peer) => Promise<void>): Promise<number> {
    await this.#bench.daemon.kill('SIGTERM')
    const began_ms = performance.now()
    await this.#bench.daemon.start()
    for (let tries = 0; ; tries += 1) {
      try {
        await isRight(this)
        return performance.now() - began_ms
      } catch (error) {
        if (tries === 2_000) throw error
        await wait(5)
      }
    }
  }

  stop(): Promise<void> {
    return this.#bench.stop()
  }
}
