import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { brokenPage } from './page-check.ts'

// LMDB's first two pages are meta pages: a page header of 24 bytes, then these fields (offsets in the page).
const META_BYTES = 160
const MAGIC_AT = 24
const MAGIC = 0xbeefc0de
const PAGE_SIZE_AT = 48
const ROOTS_AT = [88, 136]
const LAST_PAGE_AT = 144
const TRANSACTION_AT = 152
const NO_PAGE = 0xffff_ffff_ffff_ffffn

/**
 * Refuses a data file that LMDB would misread or read past its end, either of which ends the process without a message.
 * An absent or empty file is a store that is yet to be created. With `everyPage`, all pages in use are examined, which
 * takes as long as reading them.
 */
export function assertWholeFile(directory: string, { everyPage = false } = {}): void {
  const path = join(directory, 'data.mdb')
  const fault = faultIn(path, everyPage)
  if (fault !== undefined) throw new Error(damaged(path, fault))
}

/** Returns the problem with the data file of a store that was in use, for which an empty file is one as well. */
export function brokenFile(directory: string): string | undefined {
  const path = join(directory, 'data.mdb')
  const fault = existsSync(path) && statSync(path).size === 0 ? 'it is empty' : faultIn(path, true)
  return fault === undefined ? undefined : damaged(path, fault)
}

const damaged = (path: string, fault: string): string =>
  `${path} is damaged (${fault}); docs/reliability.md, "Recovery", says what to do`

function faultIn(path: string, everyPage: boolean): string | undefined {
  if (!existsSync(path)) return undefined
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    return size === 0 ? undefined : faultOf(file, size, everyPage)
  } finally {
    closeSync(file)
  }
}

function faultOf(file: number, size: number, everyPage: boolean): string | undefined {
  const first = metaAt(file, 0)
  if (first === undefined) return 'its first page is not LMDB’s'
  const pageSize = first.readUInt32LE(PAGE_SIZE_AT)
  if (pageSize < 512 || pageSize > 65_536) return 'its page size is impossible'
  const second = metaAt(file, pageSize)
  if (second === undefined) return 'its second page is not LMDB’s'
  const transaction = (meta: Buffer) => meta.readBigUInt64LE(TRANSACTION_AT)
  const newest = transaction(second) > transaction(first) ? second : first
  const pages = BigInt(Math.floor(size / pageSize))
  // Pages that a transaction allocated and freed may never have been written, so the file may end a little early.
  const isCut = newest.readBigUInt64LE(LAST_PAGE_AT) + 1n > pages * 2n
  const lacksRoot = ROOTS_AT.map((at) => newest.readBigUInt64LE(at)).some((root) => root !== NO_PAGE && root >= pages)
  if (isCut || lacksRoot) return 'it ends too early'
  const roots = ROOTS_AT.map((at) => newest.readBigUInt64LE(at))
  return everyPage ? brokenPage(file, pageSize, pages, roots) : undefined
}

function metaAt(file: number, position: number): Buffer | undefined {
  const meta = Buffer.alloc(META_BYTES)
  if (readSync(file, meta, 0, META_BYTES, position) < META_BYTES) return undefined
  return meta.readUInt32LE(MAGIC_AT) === MAGIC ? meta : undefined
}
