import { setTimeout as wait } from 'node:timers/promises'
import { type DataSet, METRIC_NAMES, type SampledObject, type Totals, valueAt } from './data-set.ts'
import { HttpPeer } from './http-peer.ts'
import { labelsOf, selectorOf } from './labels.ts'
import type { Footprint } from './peer.ts'
import { diskBytes, writtenBytes } from './programs.ts'
import { TotalsBuilder } from './totals.ts'
import type { Query } from './windows.ts'

interface ExportedSeries {
  readonly metric: Readonly<Record<string, string>>
  readonly values: readonly (number | null)[]
}

/** VictoriaMetrics, queried by raw export, its fastest way to answer a window. */
export class VictoriaMetrics extends HttpPeer {
  readonly name = 'VictoriaMetrics'
  readonly asks = '/api/v1/export'
  readonly #data: DataSet

  constructor(program: string, data: DataSet) {
    super(program)
    this.#data = data
  }

  protected args(address: string): readonly string[] {
    const storage = [`-storageDataPath=${this.folder}`, '-retentionPeriod=10y']
    return [`-httpListenAddr=${address}`, ...storage, '-loggerLevel=ERROR']
  }

  async load(): Promise<Footprint> {
    const server = await this.start()
    await server.until(() => this.get('/health'))
    const before = writtenBytes(server.pid)
    for (const object of this.#data.objects) {
      const seconds = [...this.#data.seconds(object)]
      const body = METRIC_NAMES.map((_, metric) => importLine(object, metric, seconds)).join('\n')
      const answer = await fetch(`${this.origin}/api/v1/import`, { method: 'POST', body })
      if (!answer.ok) throw new Error(`import: ${answer.status} ${await answer.text()}`)
    }
    await this.get('/internal/force_flush')
    await this.get('/internal/force_merge')
    // The merge continues after the answer.
    await wait(3_000)
    const written_bytes = writtenBytes(server.pid) - before
    return { loadedBy: '/api/v1/import, merged', written_bytes, kept_bytes: diskBytes(this.folder) }
  }

  protected path({ objects, start_s, end_s }: Query): string {
    return `/api/v1/export?match[]=${encodeURIComponent(selectorOf(objects))}&start=${start_s}&end=${end_s - 1}`
  }

  protected totals(text: string): Totals {
    const totals = new TotalsBuilder()
    for (const line of text.trim().split('\n')) {
      const { metric, values } = JSON.parse(line) as ExportedSeries
      const index = METRIC_NAMES.findIndex((name) => name === metric['__name__'])
      for (const value of values) totals.add(index, value)
    }
    return totals
  }
}

function importLine(object: SampledObject, metric: number, seconds: readonly number[]): string {
  return JSON.stringify({
    metric: { __name__: METRIC_NAMES[metric], ...labelsOf(object) },
    values: seconds.map((second) => valueAt(object, metric, second)),
    timestamps: seconds.map((second) => second * 1_000),
  })
}
