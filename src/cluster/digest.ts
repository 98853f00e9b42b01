import { createHash } from 'node:crypto'
import { canonical } from '../base/canonical.ts'

/** A record of a store, as nodes compare it. */
export interface DigestedRecord {
  readonly section: string
  /** Whose the record is within its section, such as a node's id; empty for those of all. */
  readonly scope: string
  readonly key: string
  /** JSON: fields that are undefined do not count. */
  readonly value: unknown
}

const BITS = 256
const DIGITS = BITS / 4

/**
 * Says whether two stores hold the same records, however they came to: the sum, modulo 2^256, of a SHA-256 of each
 * record. A sum has no order, and a record is added or taken away without reading the others.
 *
 * Against faults that is as good as a hash of the whole: stores that differ by a record that was lost, doubled, changed
 * or put elsewhere agree with a probability of 2^-256, because no fault chooses records by their hashes. It is no
 * defence against forgers: somebody who may choose many records finds sets with equal sums far sooner than collisions
 * of SHA-256 (Wagner's generalized birthday problem, 2002). Nodes trust each other's records through sealing, not
 * through this.
 *
 * Records are counted, not looked up: adding one twice counts twice, and a caller that replaces or removes one passes
 * its previous value.
 */
export class RecordsDigest {
  #sum: bigint

  private constructor(sum: bigint) {
    this.#sum = sum
  }

  /** The digest of nothing. */
  static empty(): RecordsDigest {
    return new RecordsDigest(0n)
  }

  /**
   * A digest that `toString` wrote.
   *
   * @throws {TypeError} for any other text.
   */
  static from(text: string): RecordsDigest {
    if (!/^[0-9a-f]{64}$/.test(text)) throw new TypeError('A digest of records has 64 hexadecimal digits')
    return new RecordsDigest(BigInt(`0x${text}`))
  }

  add(record: DigestedRecord): void {
    this.#sum = BigInt.asUintN(BITS, this.#sum + termOf(record))
  }

  remove(record: DigestedRecord): void {
    this.#sum = BigInt.asUintN(BITS, this.#sum - termOf(record))
  }

  /** Another value under the same key. */
  replace(before: DigestedRecord, after: DigestedRecord): void {
    this.#sum = BigInt.asUintN(BITS, this.#sum - termOf(before) + termOf(after))
  }

  /** 64 hexadecimal digits. */
  toString(): string {
    return this.#sum.toString(16).padStart(DIGITS, '0')
  }
}

/** A list in JSON, so that no part runs into the next. */
function termOf({ section, scope, key, value }: DigestedRecord): bigint {
  const hash = createHash('sha256').update(canonical([section, scope, key, value]))
  return BigInt(`0x${hash.digest('hex')}`)
}
