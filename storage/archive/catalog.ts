import type { ReadableObject } from './tier-reader.ts'

export type ObjectKind = 'frontend' | 'backend' | 'server'

/**
 * An object of the archive. Its number is never given to another object; the same (kind, name, backend) keeps its
 * number.
 */
export interface ArchiveObject extends ReadableObject {
  readonly id: number
  readonly kind: ObjectKind
  readonly name: string
  /** For a server, its backend; else empty. */
  readonly backend: string
  readonly born_s: number
  died_s: number | undefined
  slot: number
  /** The second after its latest sample. */
  seen_s: number
}

export function objectKey(kind: ObjectKind, name: string, backend: string): string {
  return `${kind}\0${backend}\0${name}`
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function encodeObject(object: ArchiveObject): Uint8Array {
  const { kind, name, backend, born_s, died_s } = object
  return encoder.encode(JSON.stringify({ kind, name, backend, born_s, died_s }))
}

/** `undefined` when the bytes are not a catalog entry. */
export function decodeObject(id: number, bytes: Uint8Array): ArchiveObject | undefined {
  let entry: unknown
  try {
    entry = JSON.parse(decoder.decode(bytes))
  } catch {
    return undefined
  }
  if (typeof entry !== 'object' || entry === null) return undefined
  const { kind, name, backend, born_s, died_s } = { ...emptyEntry, ...entry }
  if (kind !== 'frontend' && kind !== 'backend' && kind !== 'server') return undefined
  if (typeof name !== 'string' || typeof backend !== 'string' || typeof born_s !== 'number') return undefined
  const died = typeof died_s === 'number' ? died_s : undefined
  return { id, kind, name, backend, born_s, died_s: died, slot: -1, seen_s: died ?? Number.POSITIVE_INFINITY }
}

const emptyEntry: Readonly<Record<'kind' | 'name' | 'backend' | 'born_s' | 'died_s', unknown>> = {
  kind: undefined,
  name: undefined,
  backend: undefined,
  born_s: undefined,
  died_s: undefined,
}
