import { createHash } from 'node:crypto'
import type { EtcdClient } from '../etcd/client.ts'
import { partName, partsOf } from './places.ts'
import { type ClusterKeys, SealingError } from './sealing.ts'

/** etcd accepts 1.5 MiB in one request; a smaller entry leaves room for others in one answer. */
const INLINE_BYTES_MAX = 64 * 1024
const PART_BYTES = 256 * 1024

/** The pointer stored in place of a value that is kept in parts. */
interface InParts {
  readonly id: string
  readonly parts: number
  /** Hash of the whole value, in hexadecimal digits. */
  readonly sha256: string
}

/** The first byte of the sealed content. */
const FORM = { inline: 0, inParts: 1 } as const

export class MissingPartError extends Error {
  override readonly name = 'MissingPartError'
}

/** Looks for keys that others already use for sealing, and holds those meant for this node. */
export type LearnKeys = () => Promise<void>

type Etcd = Pick<EtcdClient, 'put' | 'range' | 'delete'>

/** Values of any size in etcd, sealed for their name: small ones in one place, large ones in parts elsewhere. */
export class LargeValues {
  readonly #etcd: Etcd
  readonly #keys: ClusterKeys
  readonly #learn: LearnKeys

  constructor(etcd: Etcd, keys: ClusterKeys, learn: LearnKeys = async () => undefined) {
    this.#etcd = etcd
    this.#keys = keys
    this.#learn = learn
  }

  /**
   * Returns the value to store under `name`. Parts are written before it resolves, so that no value is found without
   * them. They are named by `id`, below a position of the log.
   */
  async sealed(name: string, value: Uint8Array, position: number, id: string): Promise<Uint8Array> {
    if (value.length <= INLINE_BYTES_MAX) return this.#seal(name, FORM.inline, value)
    const parts = Math.ceil(value.length / PART_BYTES)
    for (let part = 0; part < parts; part++) {
      const place = partName(position, id, part)
      const piece = value.subarray(part * PART_BYTES, (part + 1) * PART_BYTES)
      await this.#etcd.put(place, this.#keys.seal(place, piece, { deflate: true }))
    }
    const pointer: InParts = { id, parts, sha256: sha256(value) }
    return this.#seal(name, FORM.inParts, Buffer.from(JSON.stringify(pointer)))
  }

  /**
   * Opens a value. @throws {MissingPartError} when parts are gone: the writer of a checkpoint has deleted them with the
   * entry.
   */
  async opened(name: string, sealed: Uint8Array, position: number): Promise<Buffer> {
    const bytes = await this.#opened(name, sealed)
    const content = bytes.subarray(1)
    if (bytes[0] === FORM.inline) return content
    // Sound: only nodes can seal.
    const { id, parts, sha256: expected } = JSON.parse(content.toString()) as InParts
    const pieces: Buffer[] = []
    for (let part = 0; part < parts; part++) {
      const place = partName(position, id, part)
      // The member that answers may be behind the one that returned the value.
      const found = (await this.#find(place, true)) ?? (await this.#find(place, false))
      if (found === undefined) throw new MissingPartError(`a part of ${name} is missing`)
      pieces.push(await this.#opened(place, found))
    }
    const value = Buffer.concat(pieces)
    if (sha256(value) !== expected) throw new MissingPartError(`the parts of ${name} are not those that were written`)
    return value
  }

  /** Opens a sealed value. A node that was away may read a checkpoint before the entry about its key. */
  async #opened(place: string, sealed: Uint8Array): Promise<Buffer> {
    try {
      return this.#keys.open(place, sealed)
    } catch (error) {
      if (!(error instanceof SealingError && error.code === 'KEY_UNKNOWN')) throw error
      await this.#learn()
      return this.#keys.open(place, sealed)
    }
  }

  async #find(place: string, isSerializable: boolean): Promise<Uint8Array | undefined> {
    const { kvs } = await this.#etcd.range({ key: place }, { isSerializable })
    return kvs[0]?.value
  }

  /** Deletes the parts of a value that is not in use: its entry lost the race. */
  async forget(position: number, id: string): Promise<void> {
    await this.#etcd.delete(partsOf(position, id))
  }

  #seal(name: string, form: number, content: Uint8Array): Uint8Array {
    return this.#keys.seal(name, Buffer.concat([Buffer.of(form), content]))
  }
}

const sha256 = (value: Uint8Array): string => createHash('sha256').update(value).digest('hex')
