import type { MetricsFormat } from '../context/metrics.ts'
import { Exposition } from './exposition.ts'
import type { Layer7Input } from './layer7-input.ts'
import { Layer7Samples } from './layer7-samples.ts'

/** The input of a document: samples of Layer 7, between parts that are already written. */
export interface DocumentParts {
  readonly before: Uint8Array
  /** Undefined while HAProxy does not answer. */
  readonly layer7: Layer7Input | undefined
  readonly after: Uint8Array
  /** Memory for the document, used if it suffices; must not be that of the previous document. */
  readonly memory: Uint8Array
}

/** Writes documents of one form, each from the previous one. A writer that was interrupted must not be used again. */
export class DocumentWriter {
  readonly #out: Exposition
  readonly #layer7 = new Layer7Samples()

  constructor(format: MetricsFormat) {
    this.#out = new Exposition(format)
  }

  /** Other work may take turns in between; `end` returns the document. */
  *write({ before, layer7, after, memory }: DocumentParts): Generator<void> {
    this.#out.start(Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength))
    this.#out.add(before)
    yield* this.#layer7.write(this.#out, layer7)
    this.#out.add(after)
  }

  end(): Buffer {
    const document = this.#out.end()
    this.#layer7.keep(document)
    return document
  }
}
