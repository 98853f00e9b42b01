import { Holders } from '../base/holders.ts'
import type { Hold } from '../context/rendered.ts'
import { sharedMemory } from '../exposition/shared-memory.ts'

interface Lent {
  readonly memory: Buffer
  readonly length: number
  readonly holders: Holders
}

const SMALLEST = 64 * 1_024
/** Memory larger than its contents by more than this factor is released. */
const LARGER_MAX = 4

/**
 * Two documents alternate in their memory, because allocating 70 MB takes the kernel as long as writing them. If a
 * document is still being read when its memory is due, its readers keep it.
 */
export class DocumentMemory {
  #last: Lent | undefined
  #before: Lent | undefined

  /** Returns memory for the next document. This overwrites the one before the last, if nobody holds it. */
  next(): Buffer {
    const before = this.#before
    this.#before = undefined
    const length = this.#last?.length ?? 0
    const fits = before !== undefined && before.memory.length <= Math.max(SMALLEST, length * LARGER_MAX)
    if (fits && !before.holders.areThere && before.memory.length >= length) return before.memory
    return sharedMemory(Math.max(SMALLEST, length + (length >> 4)))
  }

  /** Notes a new document that may be held from now on. */
  lend(document: Buffer): Hold {
    const lent: Lent = { memory: Buffer.from(document.buffer), length: document.length, holders: new Holders() }
    this.#before = this.#last
    this.#last = lent
    return () => lent.holders.hold()
  }
}
