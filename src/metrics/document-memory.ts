import { Holders } from '../base/holders.ts'
import type { Hold } from '../context/rendered.ts'
import { sharedMemory } from '../exposition/shared-memory.ts'

interface Lent {
  readonly memory: Buffer
  readonly length: number
  readonly holders: Holders
}

const SMALLEST = 64 * 1_024
/** Memory that is this much larger than what is written in it is given back. */
const LARGER_MAX = 4

/**
 * Two documents take turns in their memory, as fresh memory of 70 MB takes the kernel as long as writing them does. One
 * that somebody still reads when its turn comes is left to him.
 */
export class DocumentMemory {
  #last: Lent | undefined
  #before: Lent | undefined

  /** For the next document. The one before the last ends with this, if nobody holds it. */
  next(): Buffer {
    const before = this.#before
    this.#before = undefined
    const length = this.#last?.length ?? 0
    const fits = before !== undefined && before.memory.length <= Math.max(SMALLEST, length * LARGER_MAX)
    if (fits && !before.holders.areThere && before.memory.length >= length) return before.memory
    return sharedMemory(Math.max(SMALLEST, length + (length >> 4)))
  }

  /** This one is read from now on. */
  lend(document: Buffer): Hold {
    const lent: Lent = { memory: Buffer.from(document.buffer), length: document.length, holders: new Holders() }
    this.#before = this.#last
    this.#last = lent
    return () => lent.holders.hold()
  }
}
