import { ascii, JsonBuffer } from '../base/json-buffer.ts'
import type { MetricsFormat } from '../context/metrics.ts'
import { type Family, sampleName, unitOf } from './family.ts'
import { sharedMemory } from './shared-memory.ts'

/**
 * Names are written by users. A backslash, a quote and a line break are escaped; other control characters are replaced,
 * because some readers treat them as the end of the document.
 */
// oxlint-disable-next-line no-control-regex -- those are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

export function labelValue(text: string): string {
  return text
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll(CONTROL, '\ufffd')
}

/** Returns `{name="value",…` without the closing brace, so that another label may follow; '' without labels. */
export function labelText(family: Pick<Family, 'labels'>, values: readonly string[]): string {
  const pairs = family.labels.map((name, at) => `${name}="${labelValue(values[at] ?? '')}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}`
}

const SPACE = ascii(' ')
const CLOSE = ascii('} ')
const LINE = 0x0a

/** Writes the text that scrapers read, family by family. A family without samples leaves nothing. */
export class Exposition {
  readonly out = new JsonBuffer(sharedMemory)
  readonly #isOpenMetrics: boolean
  #name: Uint8Array = SPACE
  #labels: readonly string[] = []
  /** Where the head of the family begins, and where its samples begin. */
  #head = 0
  #samples = 0

  constructor(format: MetricsFormat) {
    this.#isOpenMetrics = format === 'openmetrics'
  }

  /** Begins a family; the following samples belong to it. */
  begin(family: Family): void {
    this.#finish()
    const { name, type, help, labels } = family
    const unit = unitOf(family)
    const sample = sampleName(family)
    this.#name = ascii(sample)
    this.#labels = labels
    this.#head = this.out.length
    if (this.#isOpenMetrics)
      this.out.text(
        `# TYPE ${name} ${type}\n${unit === undefined ? '' : `# UNIT ${name} ${unit}\n`}# HELP ${name} ${help}\n`,
      )
    else this.out.text(`# HELP ${sample} ${help}\n# TYPE ${sample} ${type === 'counter' ? type : 'gauge'}\n`)
    this.#samples = this.out.length
  }

  sample(values: readonly string[], value: number): void {
    this.out.raw(this.#name)
    this.out.text(labelText({ labels: this.#labels }, values))
    this.out.raw(values.length === 0 ? SPACE : CLOSE)
    this.out.number(value)
    this.out.byte(LINE)
  }

  /** Writes a sample with labels that are kept as bytes. */
  number(labels: Uint8Array, value: number): void {
    this.out.raw(this.#name)
    this.out.raw(labels)
    this.out.raw(CLOSE)
    this.out.number(value)
    this.out.byte(LINE)
  }

  /** Writes the next document into this memory, if it suffices. */
  start(memory: Buffer): void {
    this.out.use(memory)
  }

  /** Adds a part that was written elsewhere. */
  add(part: Uint8Array): void {
    this.#finish()
    this.out.raw(part)
    this.#head = this.#samples = this.out.length
  }

  /** Returns the contents as a part of a document, and begins anew. */
  part(): Buffer {
    this.#finish()
    return this.out.give()
  }

  /** Returns the document, and begins anew. */
  end(): Buffer {
    this.#finish()
    if (this.#isOpenMetrics) this.out.text('# EOF\n')
    return this.out.give()
  }

  #finish(): void {
    if (this.out.length === this.#samples) this.out.cut(this.#head)
    this.#head = this.#samples = 0
  }
}
