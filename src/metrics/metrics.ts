import type { Clock } from '../base/clock.ts'
import { KeptAnswer } from '../base/kept-answer.ts'
import { inTurns } from '../base/turns.ts'
import type { MetricsFormat, MetricsReader } from '../context/metrics.ts'
import type { Pack, Rendered } from '../context/rendered.ts'
import { DocumentMemory } from './document-memory.ts'
import { CONTENT_TYPES, Exposition, formatFor } from './exposition.ts'
import type { Family } from './family.ts'
import { LAYER_4_FAMILIES, type Layer4Parts, Layer4Samples } from './layer4-samples.ts'
import { LAYER_7_FAMILIES } from './layer7-families.ts'
import { type Layer7Parts, Layer7Samples } from './layer7-samples.ts'
import { NODE_FAMILIES } from './node-families.ts'
import { type NodeFigures, writeNode } from './node-samples.ts'

export const FAMILIES: readonly Family[] = [...NODE_FAMILIES, ...LAYER_7_FAMILIES, ...LAYER_4_FAMILIES]

export interface MetricsParts {
  readonly layer7: Layer7Parts
  readonly layer4: Layer4Parts
  readonly node: () => Promise<NodeFigures>
  /** Compresses what is large, at a lower priority. */
  readonly pack?: Pack
  readonly clock: Pick<Clock, 'monotonic_ms'>
}

/** However many scrapers there are, each form is made once in this time. */
const KEPT_MS = 1_000
/** Smaller ones are compressed in some milliseconds: nobody notices them. */
const LARGE_BYTES = 1_000_000

/** One form of the figures: each document is made of the one before it. */
class Documents {
  readonly #parts: MetricsParts
  readonly #out: Exposition
  readonly #layer7: Layer7Samples
  readonly #layer4: Layer4Samples
  readonly #memory = new DocumentMemory()

  constructor(parts: MetricsParts, format: MetricsFormat) {
    this.#parts = parts
    this.#out = new Exposition(format)
    this.#layer7 = new Layer7Samples(parts.layer7)
    this.#layer4 = new Layer4Samples(parts.layer4)
  }

  /** Who polls has turns in between. */
  async make(): Promise<Required<Pick<Rendered, 'body' | 'isTransient' | 'hold'>>> {
    const node = await this.#parts.node()
    this.#out.start(this.#memory.next())
    writeNode(this.#out, node)
    await inTurns(this.#layer7.write(this.#out))
    await inTurns(this.#layer4.write(this.#out))
    const document = this.#out.end()
    this.#layer7.keep(document)
    return { body: document, isTransient: true, hold: this.#memory.lend(document) }
  }
}

/** Everything this node counts, for systems that collect figures. */
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
    // One that broke off half way is of no use for the next.
    this.#documents.delete(format)
    const document = await documents.make()
    this.#documents.set(format, documents)
    const { pack } = this.#parts
    const apart = pack !== undefined && document.body.length >= LARGE_BYTES ? { pack } : {}
    const contentType = CONTENT_TYPES[format]
    return { ...document, ...apart, contentType, cacheControl: 'no-store', vary: 'Accept, Accept-Encoding' }
  }
}
