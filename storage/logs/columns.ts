import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/**
 * Columns of a segment as bytes. Numbers are offsets from the smallest, split into one plane per byte, so that similar
 * bytes are adjacent; texts are a list of distinct values, and the index into that list for each row.
 */

/** A higher level takes longer than its savings are worth. */
const LEVEL = 6
/** Offsets of 48 bits are exact in a double. */
const WIDTH_MAX = 6
const HEAD_BYTES = 13

export const pack = (bytes: Uint8Array): Buffer =>
  zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } })
export const unpack = (bytes: Uint8Array, bytes_max: number): Buffer =>
  zstdDecompressSync(bytes, { maxOutputLength: bytes_max })

/** Encodes integers with a range of less than 2^48. */
export function encodeNumbers(values: ArrayLike<number>): Buffer {
  let [least, most] = [Infinity, -Infinity]
  for (let at = 0; at < values.length; at++) {
    const value = values[at] ?? 0
    if (value < least) least = value
    if (value > most) most = value
  }
  if (values.length === 0) [least, most] = [0, 0]
  let width = 0
  for (let rest = most - least; rest >= 1; rest /= 256) width++
  if (width > WIDTH_MAX) throw new RangeError('a column of numbers spans more than 48 bits')
  const bytes = Buffer.alloc(HEAD_BYTES + width * values.length)
  bytes.writeDoubleLE(least)
  bytes.writeUInt32LE(values.length, 8)
  bytes.writeUInt8(width, 12)
  for (let at = 0; at < values.length; at++) {
    let rest = (values[at] ?? 0) - least
    for (let plane = 0; plane < width; plane++) {
      bytes[HEAD_BYTES + plane * values.length + at] = rest % 256
      rest = Math.floor(rest / 256)
    }
  }
  return bytes
}

export function decodeNumbers(bytes: Buffer): Float64Array {
  const least = bytes.readDoubleLE(0)
  const count = bytes.readUInt32LE(8)
  const width = bytes.readUInt8(12)
  if (width > WIDTH_MAX || bytes.length !== HEAD_BYTES + width * count)
    throw new RangeError('a column of numbers is torn')
  const values = new Float64Array(count).fill(least)
  let unit = 1
  for (let plane = 0; plane < width; plane++) {
    const from = HEAD_BYTES + plane * count
    for (let at = 0; at < count; at++) values[at] = (values[at] ?? 0) + (bytes[from + at] ?? 0) * unit
    unit *= 256
  }
  return values
}

export interface Texts {
  readonly different: readonly string[]
  /** Index into that list per row. */
  readonly places: Float64Array
}

export function encodeTexts(values: readonly string[]): { readonly list: Buffer; readonly places: Buffer } {
  const known = new Map<string, number>()
  const places = values.map((value) => {
    const place = known.get(value) ?? known.size
    if (place === known.size) known.set(value, place)
    return place
  })
  return { list: Buffer.from(JSON.stringify([...known.keys()])), places: encodeNumbers(places) }
}

export function decodeTexts(list: Buffer, places: Buffer): Texts {
  const different: unknown = JSON.parse(list.toString())
  if (!Array.isArray(different) || !different.every((text) => typeof text === 'string'))
    throw new TypeError('a column of texts is torn')
  return { different, places: decodeNumbers(places) }
}
