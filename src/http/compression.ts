import { brotliCompress, gzip } from 'node:zlib'
import { BROTLI, GZIP, packHere, type Packing } from '../base/packing.ts'
import type { Pack, Rendered } from '../context/rendered.ts'

/** An answer that fits into one packet with its headers arrives no sooner if it is smaller. */
export const COMPRESS_MIN_BYTES = 1_200
/**
 * Up to this size, compressing on the event loop takes less time than handing the bytes to another thread and back:
 * 0.05 to 0.15 ms.
 */
export const COMPRESS_AT_ONCE_BYTES = 16 * 1_024
/** Threads of the libuv pool that may compress: the others are for logins and for writes to disk. */
const RUNNING_MAX = 2
/** Answers that may wait for compression; further ones are sent plain, which every client understands. */
const WAITING_MAX = 32

const COMPRESSIBLE = /^(text\/|application\/(json|javascript|yaml|xml|openmetrics-text)|image\/svg)/

/** Returns whether compressing an answer of this type and size is worthwhile. */
export function isCompressible(contentType: string, bytes: number): boolean {
  return bytes >= COMPRESS_MIN_BYTES && COMPRESSIBLE.test(contentType)
}

let running = 0
const waiting: (() => void)[] = []

/**
 * Compresses small answers at once and larger ones in another thread, from a copy if the bytes are about to change and
 * cannot be held. Returns undefined if too many are being compressed.
 */
export function compress(
  encoding: Packing,
  body: Uint8Array,
  { isTransient, hold, pack }: Pick<Rendered, 'isTransient' | 'hold' | 'pack'>,
): Uint8Array | Promise<Uint8Array> | undefined {
  if (body.length <= COMPRESS_AT_ONCE_BYTES) {
    return packHere(encoding, body)
  }
  if (running >= RUNNING_MAX && waiting.length >= WAITING_MAX) return undefined
  const letGo = hold?.()
  const stays = letGo !== undefined || isTransient !== true
  return beside(encoding, stays ? body : Buffer.from(body), pack ?? packInPool).finally(letGo)
}

async function beside(encoding: Packing, body: Uint8Array, pack: Pack): Promise<Uint8Array> {
  if (running >= RUNNING_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    return await pack(encoding, body)
  } finally {
    // The place passes to the next in the queue directly, so that it is never counted twice.
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

function packInPool(encoding: Packing, body: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, result: Uint8Array) => (error === null ? resolve(result) : reject(error))
    if (encoding === 'gzip') gzip(body, GZIP, done)
    else brotliCompress(body, BROTLI, done)
  })
}
