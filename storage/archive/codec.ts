import { type ByteSink, type ByteSource, varintSize } from './bytes.ts'

/**
 * One column of integers (0 to 2^53 - 1), where NaN means unknown. The head byte holds the mode; a column with unknown
 * values has a presence bitmap, followed by the known values only. The smaller of two encodings is used: varints with
 * runs of zeros, or frame of reference (the minimum, then differences in a fixed number of bits).
 */
const ALL_UNKNOWN = 0
const ALL_ZERO = 1
const ZERO_RUNS = 2
const FRAME = 3
const WITH_BITMAP = 0x80

const scratch = new Float64Array(256)

function bitWidth(value: number): number {
  if (value === 0) return 0
  return value < 0x100000000 ? 32 - Math.clz32(value) : 64 - Math.clz32(Math.floor(value / 0x100000000))
}

/** Copies the known values of the column to `scratch`; returns their number. */
function gather(values: Float64Array, at: number, n: number): number {
  let known = 0
  for (let i = 0; i < n; i++) {
    const value = values[at + i] ?? Number.NaN
    if (value === value) scratch[known++] = value
  }
  return known
}

function writeBitmap(sink: ByteSink, values: Float64Array, at: number, n: number): void {
  sink.reserve((n + 7) >> 3)
  for (let i = 0; i < n; i += 8) {
    let byte = 0
    for (let bit = 0; bit < 8 && i + bit < n; bit++) {
      const value = values[at + i + bit] ?? Number.NaN
      if (value === value) byte |= 1 << bit
    }
    sink.bytes[sink.length++] = byte
  }
}

function writeZeroRuns(sink: ByteSink, known: number): void {
  for (let i = 0; i < known; i++) {
    const value = scratch[i] ?? 0
    if (value !== 0) {
      sink.varint(value)
      continue
    }
    let run = 1
    while (i + run < known && scratch[i + run] === 0) run++
    sink.u8(0)
    sink.varint(run - 1)
    i += run - 1
  }
}

function writeFrame(sink: ByteSink, known: number, minimum: number, width: number): void {
  sink.varint(minimum)
  sink.u8(width)
  sink.reserve(((known * width) >> 3) + 8)
  let pending = 0
  let bits = 0
  for (let i = 0; i < known; i++) {
    let rest = (scratch[i] ?? 0) - minimum
    // Sixteen bits at a time keep the arithmetic within 32-bit integers for values of any width.
    for (let left = width; left > 0; left -= 16) {
      const take = left < 16 ? left : 16
      const part = rest < 0x80000000 ? rest & 0xffff : rest % 0x10000
      pending |= part << bits
      bits += take
      rest = rest < 0x80000000 ? rest >> 16 : Math.floor(rest / 0x10000)
      for (; bits >= 8; bits -= 8) {
        sink.bytes[sink.length++] = pending
        pending >>>= 8
      }
    }
  }
  if (bits > 0) sink.bytes[sink.length++] = pending
}

export function encodeColumn(sink: ByteSink, values: Float64Array, at: number, n: number): void {
  const known = gather(values, at, n)
  const flag = known < n ? WITH_BITMAP : 0
  let minimum = Number.POSITIVE_INFINITY
  let maximum = 0
  let runBytes = 0
  let previous = 1
  for (let i = 0; i < known; i++) {
    const value = scratch[i] ?? 0
    if (value < minimum) minimum = value
    if (value > maximum) maximum = value
    // A run of zeros is counted as two bytes; runs above 128 need a third, so the estimate is slightly low.
    runBytes += value !== 0 ? varintSize(value) : previous === 0 ? 0 : 2
    previous = value
  }
  if (known === 0) return sink.u8(ALL_UNKNOWN)
  const width = bitWidth(maximum - minimum)
  const frameBytes = varintSize(minimum) + 1 + Math.ceil((known * width) / 8)
  const mode = maximum === 0 ? ALL_ZERO : runBytes < frameBytes ? ZERO_RUNS : FRAME
  sink.u8(mode | flag)
  if (flag !== 0) writeBitmap(sink, values, at, n)
  if (mode === ZERO_RUNS) writeZeroRuns(sink, known)
  else if (mode === FRAME) writeFrame(sink, known, minimum, width)
}

/**
 * Encodes columns of `n` values each, without trailing columns that have no known value. Data from a time with fewer
 * metrics lacks the later columns in the same way.
 */
export function encodeColumns(sink: ByteSink, values: Float64Array, n: number, columns: number): void {
  let end = sink.length
  for (let column = 0; column < columns; column++) {
    const start = sink.length
    encodeColumn(sink, values, column * n, n)
    if (sink.bytes[start] !== ALL_UNKNOWN) end = sink.length
  }
  sink.length = end
}

function readZeroRuns(source: ByteSource, out: Float64Array, from: number, end: number): void {
  for (let i = from; i < end;) {
    const value = source.varint()
    if (value !== 0) out[i++] = value
    else for (let run = source.varint() + 1; run > 0 && i < end; run--) out[i++] = 0
  }
}

/** A value of at most this many bits comes from one 32-bit integer, whatever bits the value before has left over. */
const NARROW_BITS = 24

function readFrame(source: ByteSource, out: Float64Array, from: number, end: number): void {
  const minimum = source.varint()
  const width = source.u8()
  if (width === 0) out.fill(minimum, from, end)
  else if (width <= NARROW_BITS) readNarrow(source, minimum, width, out, from, end)
  else readWide(source, minimum, width, out, from, end)
}

function readNarrow(
  source: ByteSource,
  minimum: number,
  width: number,
  out: Float64Array,
  from: number,
  end: number,
): void {
  const { bytes } = source
  const mask = (1 << width) - 1
  let at = source.at
  let pending = 0
  let bits = 0
  for (let i = from; i < end; i++) {
    for (; bits < width; bits += 8) pending |= (bytes[at++] ?? 0) << bits
    out[i] = (pending & mask) + minimum
    pending >>>= width
    bits -= width
  }
  source.at = at
}

function readWide(
  source: ByteSource,
  minimum: number,
  width: number,
  out: Float64Array,
  from: number,
  end: number,
): void {
  const { bytes } = source
  let at = source.at
  let pending = 0
  let bits = 0
  for (let i = from; i < end; i++) {
    let value = 0
    let factor = 1
    for (let left = width; left > 0; left -= 16) {
      const take = left < 16 ? left : 16
      for (; bits < take; bits += 8) pending |= (bytes[at++] ?? 0) << bits
      value += (pending & ((1 << take) - 1)) * factor
      factor *= 0x10000
      pending >>>= take
      bits -= take
    }
    out[i] = value + minimum
  }
  source.at = at
}

/** Reads values into `out` from index `from` up to `end`. */
function readValues(source: ByteSource, mode: number, out: Float64Array, from: number, end: number): void {
  if (mode === ALL_ZERO) out.fill(0, from, end)
  else if (mode === ZERO_RUNS) readZeroRuns(source, out, from, end)
  else if (mode === FRAME) readFrame(source, out, from, end)
  else throw new RangeError(`unknown column mode ${mode}`)
}

/** Reads a column of `n` values into `out` from index `at`; unknown values become NaN. */
export function decodeColumn(source: ByteSource, out: Float64Array, at: number, n: number): void {
  const head = source.u8()
  const mode = head & ~WITH_BITMAP
  if (mode === ALL_UNKNOWN) {
    out.fill(Number.NaN, at, at + n)
    return
  }
  if ((head & WITH_BITMAP) === 0) {
    readValues(source, mode, out, at, at + n)
    return
  }
  const { bytes } = source
  const bitmapAt = source.at
  const present = (i: number): number => ((bytes[bitmapAt + (i >> 3)] ?? 0) >> (i & 7)) & 1
  let known = 0
  for (let i = 0; i < n; i++) known += present(i)
  source.at += (n + 7) >> 3
  readValues(source, mode, scratch, 0, known)
  let next = 0
  for (let i = 0; i < n; i++) out[at + i] = present(i) === 1 ? (scratch[next++] ?? 0) : Number.NaN
}

/** Reads the first `columns` of the output of `encodeColumns`. */
export function decodeColumns(source: ByteSource, out: Float64Array, n: number, columns: number): void {
  for (let column = 0; column < columns; column++) {
    if (source.isAtEnd) return void out.fill(Number.NaN, column * n, columns * n)
    decodeColumn(source, out, column * n, n)
  }
}
