import { readSync } from 'node:fs'

// LMDB's format, as in its source (mdb.c of the version that lmdb-js bundles): a page begins with its number (8 bytes),
// a transaction (8), a size (2), flags (2), and the ends of its list of nodes and of its free space (2 each).
const HEADER_BYTES = 24
const FLAGS_AT = 18
const LOWER_AT = 20
const UPPER_AT = 22
const IS_BRANCH = 0x01
const IS_LEAF = 0x02
const IS_OVERFLOW = 0x04
const KINDS = IS_BRANCH | IS_LEAF | IS_OVERFLOW
/**
 * A node: size of its data or page number (4 bytes), flags or the upper part of that number (2), size of its key (2).
 */
const NODE_BYTES = 8
const IS_LARGE = 0x01
const IS_DATABASE = 0x02
const DATABASE_BYTES = 48
const ROOT_AT = 40
const NO_PAGE = 0xffff_ffff_ffff_ffffn
const LARGE_BYTES = 24
/** Higher than any tree of pages: each branch has at least two children. */
const DEPTH_MAX = 40

/** A page that violates the format; the message says how and where. */
class PageFault extends Error {}

function assertPage(isRight: boolean, page: bigint, what: string): void {
  if (!isRight) throw new PageFault(`page ${page} ${what}`)
}

/** Bounds of a page's keys, from its place in the tree. */
interface Bounds {
  readonly low?: Buffer | undefined
  readonly high?: Buffer | undefined
}

/**
 * Checks every page that a data file of LMDB uses, as far as LMDB relies on it: LMDB itself checks none, and a
 * malformed one ends the process with a signal. Returns the first problem found.
 */
export function brokenPage(
  file: number,
  pageSize: number,
  pages: bigint,
  roots: readonly bigint[],
): string | undefined {
  try {
    // The first tree is LMDB's own list of free pages, whose keys are numbers.
    for (const [index, root] of roots.entries()) new Tree(file, pageSize, pages, index > 0).walk(root, {}, 0)
    return undefined
  } catch (error) {
    if (error instanceof PageFault) return error.message
    throw error
  }
}

class Tree {
  readonly #file: number
  readonly #pageSize: number
  readonly #pages: bigint
  readonly #isOrdered: boolean

  constructor(file: number, pageSize: number, pages: bigint, isOrdered: boolean) {
    this.#file = file
    this.#pageSize = pageSize
    this.#pages = pages
    this.#isOrdered = isOrdered
  }

  walk(number: bigint, bounds: Bounds, depth: number): void {
    if (number === NO_PAGE) return
    const page = this.#read(number)
    const kind = page.readUInt16LE(FLAGS_AT) & KINDS
    assertPage(kind === IS_BRANCH || kind === IS_LEAF, number, 'is neither a branch nor a leaf')
    assertPage(depth < DEPTH_MAX, number, 'is part of a circle')
    const nodes = this.#nodes(page, number)
    let last = bounds.low
    for (const [index, at] of nodes.entries()) {
      const key = page.subarray(at + NODE_BYTES, at + NODE_BYTES + page.readUInt16LE(at + 6))
      // The first key of a branch is empty: its child holds everything before the second key.
      const isFirst = kind === IS_BRANCH && index === 0
      const low = isFirst ? bounds.low : key
      if (this.#isOrdered && !isFirst) {
        const isIn =
          (last === undefined || last.compare(key) <= 0) && (bounds.high === undefined || bounds.high.compare(key) > 0)
        assertPage(isIn, number, 'has its keys in a wrong order')
      }
      last = low
      if (kind === IS_LEAF) this.#leaf(page, number, at, depth)
      else this.walk(childOf(page, at), { low, high: this.#keyAt(page, nodes[index + 1]) ?? bounds.high }, depth + 1)
    }
  }

  #keyAt(page: Buffer, at: number | undefined): Buffer | undefined {
    return at === undefined ? undefined : page.subarray(at + NODE_BYTES, at + NODE_BYTES + page.readUInt16LE(at + 6))
  }

  #leaf(page: Buffer, number: bigint, at: number, depth: number): void {
    const flags = page.readUInt16LE(at + 4)
    const data = at + NODE_BYTES + page.readUInt16LE(at + 6)
    const size = page.readUInt32LE(at)
    const held = (flags & IS_LARGE) === 0 ? size : LARGE_BYTES
    assertPage((flags & ~(IS_LARGE | IS_DATABASE)) === 0, number, 'has a value of another kind')
    assertPage(data + held <= this.#pageSize, number, 'has a value that leaves it')
    if ((flags & IS_LARGE) !== 0) this.#large(page.readBigUInt64LE(data), size)
    else if ((flags & IS_DATABASE) !== 0) {
      assertPage(size === DATABASE_BYTES, number, 'has a table of an impossible size')
      this.walk(page.readBigUInt64LE(data + ROOT_AT), {}, depth + 1)
    }
  }

  #large(first: bigint, size: number): void {
    const count = Math.ceil((HEADER_BYTES + size) / this.#pageSize)
    const page = this.#read(first)
    assertPage((page.readUInt16LE(FLAGS_AT) & KINDS) === IS_OVERFLOW, first, 'is not that of a large value')
    assertPage(page.readUInt32LE(LOWER_AT) >= count, first, 'has less pages than its value')
    assertPage(first + BigInt(count) <= this.#pages, first, 'goes on beyond the end of the file')
  }

  /** Returns the offsets of a page's nodes, each within the page. */
  #nodes(page: Buffer, number: bigint): readonly number[] {
    const [lower, upper] = [page.readUInt16LE(LOWER_AT), page.readUInt16LE(UPPER_AT)]
    const room = this.#pageSize - HEADER_BYTES
    assertPage(lower <= upper && upper <= room && lower > 0 && lower % 2 === 0, number, 'has impossible bounds')
    return Array.from({ length: lower / 2 }, (_, index) => {
      const at = page.readUInt16LE(HEADER_BYTES + 2 * index) + HEADER_BYTES
      const isIn = at >= upper + HEADER_BYTES && at + NODE_BYTES <= this.#pageSize
      assertPage(isIn, number, 'has a node that leaves it')
      assertPage(at + NODE_BYTES + page.readUInt16LE(at + 6) <= this.#pageSize, number, 'has a key that leaves it')
      return at
    })
  }

  #read(number: bigint): Buffer {
    assertPage(number < this.#pages, number, 'lies beyond the end of the file')
    const page = Buffer.allocUnsafe(this.#pageSize)
    const read = readSync(this.#file, page, 0, this.#pageSize, number * BigInt(this.#pageSize))
    assertPage(read === this.#pageSize, number, 'cannot be read')
    assertPage(page.readBigUInt64LE(0) === number, number, 'is another page')
    return page
  }
}

const childOf = (page: Buffer, at: number): bigint =>
  BigInt(page.readUInt32LE(at)) | (BigInt(page.readUInt16LE(at + 4)) << 32n)
