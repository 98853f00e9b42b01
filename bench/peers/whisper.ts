import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type DataSet, METRIC_NAMES, type Totals, valueAt } from './data-set.ts'
import type { Footprint, Peer, Rate } from './peer.ts'
import { endsWith, measureTalker, PipeProgram } from './pipe-queries.ts'
import { diskBytes, writtenBytes } from './programs.ts'
import { TotalsBuilder } from './totals.ts'
import type { Query } from './windows.ts'

/** The files of graphite-carbon, with averages only: carbon would keep three files for what one archive answers. */
export class Whisper implements Peer {
  readonly name = 'whisper (carbon)'
  readonly asks = 'whisper.fetch, by pipe'
  readonly #folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  readonly #python: string
  readonly #data: DataSet
  #pipe: PipeProgram

  constructor(python: string, data: DataSet) {
    this.#python = python
    this.#data = data
    this.#pipe = this.#start()
  }

  #start(): PipeProgram {
    const script = fileURLToPath(new URL('whisper-files.py', import.meta.url))
    return new PipeProgram(this.#python, [script, this.#folder], (parts) => endsWith(parts, 'OK\n'))
  }

  /** Loads all points at once, as of the end: a coarse bucket holds one of them, so that its average is the sample. */
  async load(): Promise<Footprint> {
    const { end_s } = this.#data
    for (const object of this.#data.objects) {
      const seconds = [...this.#data.seconds(object)]
      for (const [metric, metricName] of METRIC_NAMES.entries()) {
        const series = `${object.name}.${metricName}`
        const values = seconds.map((second) => valueAt(object, metric, second))
        await this.#pipe.ask(`create ${series}\n`)
        await this.#pipe.ask(`update ${series} ${end_s} ${seconds[0]} ${object.every_s} ${values.join(' ')}\n`)
      }
    }
    const written_bytes = writtenBytes(this.#pipe.pid)
    return { loadedBy: 'update_many, files made, average only', written_bytes, kept_bytes: diskBytes(this.#folder) }
  }

  #requests({ objects, start_s, end_s }: Query): readonly string[] {
    return objects.flatMap(({ name }) =>
      METRIC_NAMES.map((metric) => `fetch ${name}.${metric} ${start_s} ${end_s} ${this.#data.end_s}\n`),
    )
  }

  async ask(query: Query): Promise<Totals> {
    const totals = new TotalsBuilder()
    for (const [n, request] of this.#requests(query).entries()) {
      const [json = ''] = (await this.#pipe.ask(request)).toString().split('\n')
      for (const value of JSON.parse(json) as readonly (number | null)[]) totals.add(n % METRIC_NAMES.length, value)
    }
    return totals
  }

  measure(queries: readonly Query[], seconds: number): Promise<Rate> {
    const requests = queries.map((query) => this.#requests(query))
    return measureTalker(this.#pipe, requests, seconds)
  }

  async restart(isRight: (peer: Peer) => Promise<void>): Promise<number> {
    await this.#pipe.stop()
    const began_ms = performance.now()
    this.#pipe = this.#start()
    await isRight(this)
    return performance.now() - began_ms
  }

  async stop(): Promise<void> {
    await this.#pipe.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
