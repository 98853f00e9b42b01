import { createHash } from 'node:crypto'
import { canonical } from '../base/canonical.ts'

/** A record of a store, as nodes compare it. */
export interface DigestedRecord {
  readonly section: string
  /** The owner of the record within its section, such as a node's id; empty for shared records. */
  readonly scope: string
  readonly key: string
  /** A JSON value: fields that are undefined do not count. */
  readonly value: unknown
}

const BITS = 256
const DIGITS = BITS / 4

/**
 * A digest that shows whether two stores hold the same records, in whatever order they were added: the sum, modulo
 * 2^256, of a SHA-256 of each record. A sum has no order, and a record is added or removed without reading the others.
 *
 * Against faults this is as good as a hash of the whole: stores that differ by a record that was lost, doubled, changed
 * or moved have equal sums with a probability of 2^-256, because no fault chooses records by their hashes. It is no
 * defence against forgery: an attacker who may choose many records finds sets with equal sums far sooner than
 * collisions of SHA-256 (Wagner's generalized birthday problem, 2002). Nodes trust each other's records through
 * sealing, not through this.
 *
 * Records are counted, not looked up: adding one twice counts twice, and a caller that replaces or removes one passes
 * its previous value.
 */
export class RecordsDigest {
  #sum: bigint

  private constructor(sum: bigint) {
    this.#sum = sum
  }

  /** The digest of an empty store. */
  static empty(): RecordsDigest {
    return new RecordsDigest(0n)
  }

  /**
   * Reads a digest in the form of `toString`.
   *
   * @throws {TypeError} for any other text.
   */
  static from(text: string): RecordsDigest {
    if (!/^[0-9a-f]{64}$/.test(text)) throw new TypeError('A digest of records must have 64 hexadecimal digits')
    return new RecordsDigest(BigInt(`0x${text}`))
  }

  add(record: DigestedRecord): void {
    this.#sum = BigInt.asUintN(BITS, this.#sum + termOf(record))
  }

  remove(record: DigestedRecord): void {
    this.#sum = BigInt.asUintN(BITS, this.#sum - termOf(record))
  }

  /** Replaces the value under the same key. */
  replace(before: DigestedRecord, after: DigestedRecord): void {
    this.#sum = BigInt.asUintN(BITS, this.#sum - termOf(before) + termOf(after))
  }

  /** Returns 64 hexadecimal digits. */
  toString(): string {
    return this.#sum.toString(16).padStart(DIGITS, '0')
  }
}

/** Returns the hash of one record, as a JSON list so that its parts cannot be confused. */
function termOf({ section, scope, key, value }: DigestedRecord): bigint {
  const hash = createHash('sha256').update(canonical([section, scope, key, value]))
  return BigInt(`0x${hash.digest('hex')}`)
}
