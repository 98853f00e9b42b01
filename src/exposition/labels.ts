import { sharedMemory } from './shared-memory.ts'

/** The label texts of objects, one after the other, in memory that threads share. */
export interface Labels {
  readonly bytes: Uint8Array
  /** The end of each object's text. */
  readonly ends: Uint32Array
}

const BYTES_OF_END = Uint32Array.BYTES_PER_ELEMENT

export function labelsOf(texts: readonly string[]): Labels {
  const parts = texts.map((text) => Buffer.from(text))
  const bytes = sharedMemory(parts.reduce((sum, { length }) => sum + length, 0))
  const ends = new Uint32Array(sharedMemory(parts.length * BYTES_OF_END).buffer)
  let at = 0
  for (const [object, part] of parts.entries()) {
    bytes.set(part, at)
    at += part.length
    ends[object] = at
  }
  return { bytes, ends }
}
