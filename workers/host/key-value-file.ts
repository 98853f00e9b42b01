import type { KeptValues } from '../../src/drivers/host.ts'
import { readText, removeDurably, replaceFileDurably } from './durable-files.ts'

const MODE = 0o600

/** A few values in one small file, read at every access because several threads use it. */
export class KeyValueFile implements KeptValues {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.#load()).get(key)
  }

  async set(key: string, value: string | undefined): Promise<void> {
    const values = await this.#load()
    if (values.get(key) === value) return
    if (value === undefined) values.delete(key)
    else values.set(key, value)
    if (values.size === 0) return removeDurably(this.#path)
    // Sorted, so that setting a value and taking it back leaves the same bytes.
    const sorted = Object.fromEntries([...values].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    await replaceFileDurably(this.#path, `${JSON.stringify(sorted, undefined, 1)}\n`, MODE)
  }

  async #load(): Promise<Map<string, string>> {
    const text = await readText(this.#path)
    const stored: unknown = text === undefined ? {} : JSON.parse(text)
    const entries = Object.entries(typeof stored === 'object' && stored !== null ? stored : {})
    return new Map(entries.map(([key, value]) => [key, String(value)]))
  }
}

/** The same in memory. */
export class KeyValueMemory implements KeptValues {
  readonly #values = new Map<string, string>()

  async get(key: string): Promise<string | undefined> {
    return this.#values.get(key)
  }
  async set(key: string, value: string | undefined): Promise<void> {
    if (value === undefined) this.#values.delete(key)
    else this.#values.set(key, value)
  }
}
