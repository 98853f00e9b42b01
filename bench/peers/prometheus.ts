import { once } from 'node:events'
import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type DataSet, METRIC_NAMES, type SampledObject, type Totals, valueAt } from './data-set.ts'
import { HttpPeer } from './http-peer.ts'
import { labelsOf, selectorOf } from './labels.ts'
import type { Footprint } from './peer.ts'
import { diskBytes, runProgram } from './programs.ts'
import { TotalsBuilder } from './totals.ts'
import type { Query } from './windows.ts'

interface Matrix {
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>
      readonly values: readonly (readonly [time: number, value: string])[]
    }[]
  }
}

/** An instant query of a range selector returns the raw samples. */
export class Prometheus extends HttpPeer {
  readonly name = 'Prometheus'
  readonly asks = '/api/v1/query of a range'
  readonly #promtool: string
  readonly #data: DataSet

  constructor(program: string, promtool: string, data: DataSet) {
    super(program)
    this.#promtool = promtool
    this.#data = data
  }

  get #blocks(): string {
    return join(this.folder, 'data')
  }

  protected args(address: string): readonly string[] {
    const storage = [`--storage.tsdb.path=${this.#blocks}`, '--storage.tsdb.retention.time=10y']
    return ['--config.file=/dev/null', `--web.listen-address=${address}`, '--log.level=error', ...storage]
  }

  /** Blocks are built from files, one per sample density, because the converter reads its file once per block. */
  async load(): Promise<Footprint> {
    const { dense, day, month, years } = this.#data
    mkdirSync(this.#blocks)
    for (const objects of [dense, [day], [month], [years]]) {
      const file = join(this.folder, 'samples.om')
      await this.#writeSamples(file, objects)
      const options = ['--quiet', '--max-block-duration=744h']
      await runProgram(this.#promtool, ['tsdb', 'create-blocks-from', 'openmetrics', ...options, file, this.#blocks])
      rmSync(file)
    }
    const kept_bytes = diskBytes(this.#blocks)
    const server = await this.start()
    await server.until(() => this.get('/-/ready'))
    return { loadedBy: 'promtool, blocks', written_bytes: Number.NaN, kept_bytes }
  }

  async #writeSamples(file: string, objects: readonly SampledObject[]): Promise<void> {
    const stream = createWriteStream(file)
    for (const [metric, name] of METRIC_NAMES.entries()) {
      stream.write(`# TYPE ${name} gauge\n`)
      for (const object of objects) {
        const labels = Object.entries(labelsOf(object)).map(([label, value]) => `${label}="${value}"`)
        const series = `${name}{${labels.join()}}`
        const lines = Array.from(
          this.#data.seconds(object),
          (second) => `${series} ${valueAt(object, metric, second)} ${second}\n`,
        )
        if (!stream.write(lines.join(''))) await once(stream, 'drain')
      }
    }
    stream.end('# EOF\n')
    await once(stream, 'close')
  }

  /** The range includes both ends. */
  protected path({ objects, start_s, end_s }: Query): string {
    const query = encodeURIComponent(`${selectorOf(objects)}[${end_s - 1 - start_s}s]`)
    return `/api/v1/query?query=${query}&time=${end_s - 1}`
  }

  protected totals(text: string): Totals {
    const totals = new TotalsBuilder()
    for (const { metric, values } of (JSON.parse(text) as Matrix).data.result) {
      const index = METRIC_NAMES.findIndex((name) => name === metric['__name__'])
      for (const [, value] of values) totals.add(index, Number(value))
    }
    return totals
  }
}
