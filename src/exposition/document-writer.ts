import type { MetricsFormat } from '../context/metrics.ts'
import { Exposition } from './exposition.ts'
import type { Layer7Input } from './layer7-input.ts'
import { Layer7Samples } from './layer7-samples.ts'

/** What a document is made of: samples of Layer 7 between others that are written already. */
export interface DocumentParts {
  readonly before: Uint8Array
  /** undefined while HAProxy does not answer. */
  readonly layer7: Layer7Input | undefined
  readonly after: Uint8Array
  /** Where it is written, if that suffices: not where the document before it stands. */
  readonly memory: Uint8Array
}

/** Writes documents of one form, each of the one before it. What broke off half way, nothing more may come of. */
export class DocumentWriter {
  readonly #out: Exposition
  readonly #layer7 = new Layer7Samples()

  constructor(format: MetricsFormat) {
    this.#out = new Exposition(format)
  }

  /** Others have turns in between, if they want; `end` answers what was written. */
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
