import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../test/fixtures/traffic.ts'
import type { Totals } from './data-set.ts'
import { getText, type HttpServer, measureHttp } from './http-queries.ts'
import type { Footprint, Peer, Rate } from './peer.ts'
import { ServerProcess } from './programs.ts'
import type { Query } from './windows.ts'

/** A tool with an HTTP server of its own that keeps its data in a folder. */
export abstract class HttpPeer implements Peer {
  abstract readonly name: string
  abstract readonly asks: string
  protected readonly folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  readonly #program: string
  #http: HttpServer = { origin: '', headers: {} }
  #server: ServerProcess | undefined

  constructor(program: string) {
    this.#program = program
  }

  /** Returns the program's arguments for listening on the address. */
  protected abstract args(address: string): readonly string[]
  protected abstract path(query: Query): string
  protected abstract totals(text: string): Totals
  abstract load(): Promise<Footprint>

  protected get origin(): string {
    return this.#http.origin
  }

  protected async start(): Promise<ServerProcess> {
    const address = `127.0.0.1:${await freePort()}`
    this.#http = { origin: `http://${address}`, headers: {} }
    this.#server = new ServerProcess(this.#program, this.args(address))
    return this.#server
  }

  protected get(path: string): Promise<string> {
    return getText(this.#http, path)
  }

  async ask(query: Query): Promise<Totals> {
    return this.totals(await this.get(this.path(query)))
  }

  measure(queries: readonly Query[], seconds: number, clients: number): Promise<Rate> {
    const paths = queries.map((query) => this.path(query))
    return measureHttp(this.#http, paths, seconds, clients)
  }

  async restart(isRight: (peer: Peer) => Promise<void>): Promise<number> {
    await this.#server?.stop()
    const began_ms = performance.now()
    const server = await this.start()
    await server.until(() => isRight(this))
    return performance.now() - began_ms
  }

  async stop(): Promise<void> {
    await this.#server?.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
