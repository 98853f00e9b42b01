import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Totals } from './data-set.ts'
import type { Footprint, Peer, Rate } from './peer.ts'
import { measureTalker, StreamTalker } from './pipe-queries.ts'
import { ServerProcess } from './programs.ts'
import { totalsOf } from './rrd-files.ts'
import type { Rrdtool } from './rrdtool.ts'
import type { Query } from './windows.ts'

/** rrdcached with the usual settings for many files: writes after 300 to 600 s, with a journal. */
export class RrdcachedServer {
  readonly #process: ServerProcess
  readonly #folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  #connection: Socket | undefined

  constructor(program: string, files: string) {
    const journal = join(this.#folder, 'journal')
    mkdirSync(journal)
    const writing = ['-w', '300', '-z', '300', '-j', journal, '-F']
    const where = ['-b', files, '-l', `unix:${this.#address}`, '-p', join(this.#folder, 'pid')]
    this.#process = new ServerProcess(program, ['-g', ...writing, ...where])
  }

  get #address(): string {
    return join(this.#folder, 'socket')
  }
  get pid(): number {
    return this.#process.pid
  }

  async connect(): Promise<StreamTalker> {
    const socket = await this.#process.until(async () => {
      const tried = connect(this.#address)
      await once(tried, 'connect')
      return tried
    })
    this.#connection = socket
    return new StreamTalker({ readable: socket, writable: socket }, isWholeAnswer)
  }

  async stop(): Promise<void> {
    this.#connection?.destroy()
    await this.#process.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** The first line begins with the number of following lines; a negative number is an error. */
function isWholeAnswer(parts: readonly Buffer[]): boolean {
  if (parts.at(-1)?.at(-1) !== 0x0a) return false
  const wanted = Math.max(0, Number.parseInt(parts[0]?.subarray(0, 12).toString('latin1') ?? '', 10)) + 1
  let lines = 0
  for (const part of parts) for (let at = part.indexOf(10); at >= 0; at = part.indexOf(10, at + 1)) lines += 1
  return lines >= wanted
}

/** Reads the files of the rrdtool peer over the daemon's socket. */
export class Rrdcached implements Peer {
  readonly name = 'rrdcached'
  readonly asks = 'FETCH, by socket'
  readonly #program: string
  readonly #files: Rrdtool
  #server: RrdcachedServer
  #talker: StreamTalker | undefined

  constructor(program: string, files: Rrdtool) {
    this.#program = program
    this.#files = files
    this.#server = new RrdcachedServer(program, files.folder)
  }

  async #connected(): Promise<StreamTalker> {
    this.#talker ??= await this.#server.connect()
    return this.#talker
  }

  async load(): Promise<Footprint> {
    await this.#connected()
    return { loadedBy: 'files of rrdtool', written_bytes: Number.NaN, kept_bytes: Number.NaN }
  }

  /**
   * rrdcached answers from the finest ring that covers the start; each window starts where this is the ring of its own
   * tier.
   */
  #requests({ objects, start_s, end_s }: Query): readonly string[] {
    return objects.map(({ name }) => `FETCH ${name}.rrd AVERAGE ${start_s} ${end_s - 1}\n`)
  }

  async ask(query: Query): Promise<Totals> {
    const talker = await this.#connected()
    const answers: string[] = []
    for (const request of this.#requests(query)) {
      const answer = (await talker.ask(request)).toString()
      if (answer.startsWith('-')) throw new Error(`rrdcached: ${answer}`)
      answers.push(answer)
    }
    return totalsOf(answers)
  }

  async measure(queries: readonly Query[], seconds: number): Promise<Rate> {
    const requests = queries.map((query) => this.#requests(query))
    return measureTalker(await this.#connected(), requests, seconds)
  }

  async restart(isRight: (peer: Peer) => Promise<void>): Promise<number> {
    await this.#server.stop()
    this.#talker = undefined
    const began_ms = performance.now()
    this.#server = new RrdcachedServer(this.#program, this.#files.folder)
    await isRight(this)
    return performance.now() - began_ms
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }
}
