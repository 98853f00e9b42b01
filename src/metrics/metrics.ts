import { randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { KeptAnswer } from '../base/kept-answer.ts'
import { inTurns } from '../base/turns.ts'
import type { MetricsFormat, MetricsReader } from '../context/metrics.ts'
import type { Rendered } from '../context/rendered.ts'
import { type DocumentParts, DocumentWriter } from '../exposition/document-writer.ts'
import { Exposition } from '../exposition/exposition.ts'
import type { Family } from '../exposition/family.ts'
import { LAYER_7_FAMILIES } from '../exposition/layer7-families.ts'
import type { ExpositionPool } from '../threads/worker-pool.ts'
import { DocumentMemory } from './document-memory.ts'
import { CONTENT_TYPES, formatFor } from './formats.ts'
import { LAYER_4_FAMILIES, type Layer4Parts, Layer4Samples } from './layer4-samples.ts'
import { type Layer7Parts, Layer7Source } from './layer7-source.ts'
import { NODE_FAMILIES } from './node-families.ts'
import { type NodeFigures, writeNode } from './node-samples.ts'

export const FAMILIES: readonly Family[] = [...NODE_FAMILIES, ...LAYER_7_FAMILIES, ...LAYER_4_FAMILIES]

export interface MetricsParts {
  readonly layer7: Layer7Parts
  readonly layer4: Layer4Parts
  readonly node: () => Promise<NodeFigures>
  /** Its thread has a lower priority. Without it everything runs on the main thread. */
  readonly pool?: ExpositionPool
  readonly clock: Pick<Clock, 'monotonic_ms'>
}

/** Each form is rendered at most once in this time, however many scrapers there are. */
const KEPT_MS = 1_000
/**
 * Smaller documents are written and compressed on the main thread, which takes some milliseconds and goes unnoticed.
 */
const LARGE_BYTES = 1_000_000
const MANY_OBJECTS = 300

/** The documents of one form, each made from the previous one. */
class Documents {
  readonly #parts: MetricsParts
  readonly #format: MetricsFormat
  readonly #series = randomUUID()
  readonly #out: Exposition
  readonly #layer7: Layer7Source
  readonly #layer4: Layer4Samples
  readonly #writer: DocumentWriter
  readonly #memory = new DocumentMemory()

  constructor(parts: MetricsParts, format: MetricsFormat) {
    this.#parts = parts
    this.#format = format
    this.#out = new Exposition(format)
    this.#layer7 = new Layer7Source(parts.layer7)
    this.#layer4 = new Layer4Samples(parts.layer4)
    this.#writer = new DocumentWriter(format)
  }

  /** Pollers are served in between. */
  async make(): Promise<Rendered> {
    const node = await this.#parts.node()
    writeNode(this.#out, node)
    const before = this.#out.part()
    await inTurns(this.#layer4.write(this.#out))
    const after = this.#out.part()
    const { pool } = this.#parts
    // The choice of the writer changes only with the names, and then neither writer uses an earlier document.
    const writer = this.#layer7.count < MANY_OBJECTS ? undefined : pool
    const letGo = this.#parts.layer7.live.hold()
    try {
      const layer7 = await this.#layer7.read({ isShared: writer !== undefined })
      const body = await this.#written({ before, layer7, after, memory: this.#memory.next() }, writer)
      const document = { body, isTransient: true as const, hold: this.#memory.lend(body) }
      if (pool === undefined || body.length < LARGE_BYTES) return document
      return { ...document, pack: (packing, whole) => pool.run('pack', { packing, body: whole }) }
    } finally {
      letGo()
    }
  }

  async #written(parts: DocumentParts, pool: ExpositionPool | undefined): Promise<Buffer> {
    if (pool !== undefined) {
      const input = { format: this.#format, series: this.#series, parts }
      const { length, grown = parts.memory } = await pool.run('write', input)
      return Buffer.from(grown.buffer, grown.byteOffset, length)
    }
    await inTurns(this.#writer.write(parts))
    return this.#writer.end()
  }
}

/** All metrics of this node, for monitoring systems. */
export class Metrics implements MetricsReader {
  readonly #parts: MetricsParts
  readonly #documents = new Map<MetricsFormat, Documents>()
  readonly #kept: Readonly<Record<MetricsFormat, KeptAnswer<Rendered>>>

  constructor(parts: MetricsParts) {
    const { clock } = parts
    this.#parts = parts
    const kept = (format: MetricsFormat) => new KeptAnswer({ ask: () => this.#make(format), kept_ms: KEPT_MS, clock })
    this.#kept = { openmetrics: kept('openmetrics'), prometheus: kept('prometheus') }
  }

  answer(accept: string): Promise<Rendered> {
    return this.#kept[formatFor(accept)].get()
  }

  async #make(format: MetricsFormat): Promise<Rendered> {
    const documents = this.#documents.get(format) ?? new Documents(this.#parts, format)
    // Documents that were interrupted are not used again.
    this.#documents.delete(format)
    const document = await documents.make()
    this.#documents.set(format, documents)
    const contentType = CONTENT_TYPES[format]
    return { ...document, contentType, cacheControl: 'no-store', vary: 'Accept, Accept-Encoding' }
  }
}
