import { type ByteSink, ByteSource } from './bytes.ts'
import { decodeColumn, decodeColumns, encodeColumn, encodeColumns } from './codec.ts'
import type { Points } from './consolidate.ts'
import { METRIC_COUNT } from './tiers.ts'

/**
 * Chunk values: version, first bucket, number of buckets, then the columns. The first three let `check` prove that key
 * and value agree.
 */
const VERSION = 2
/** Version of chunks without seals; they live until their tier expires them. */
const UNSEALED_VERSION = 1

/** No single flipped bit turns one version into the other. */
export const isUnsealedChunk = (bytes: Uint8Array): boolean => bytes[0] === UNSEALED_VERSION

export interface ChunkHead {
  readonly version: number
  readonly first_s: number
  readonly n: number
}

function writeHead(sink: ByteSink, first_s: number, n: number): void {
  sink.length = 0
  sink.u8(VERSION)
  sink.u32(first_s)
  sink.u8(n)
}

export function readHead(source: ByteSource): ChunkHead {
  const version = source.u8()
  if (version !== VERSION && version !== UNSEALED_VERSION) throw new RangeError(`unknown chunk version ${version}`)
  return { version, first_s: source.u32(), n: source.u8() }
}

/** Base tier: one value per second and metric. `values` is column-major with `n` values per metric. */
export function encodeBaseChunk(sink: ByteSink, first_s: number, values: Float64Array, n: number): Uint8Array {
  writeHead(sink, first_s, n)
  encodeColumns(sink, values, n, METRIC_COUNT)
  return sink.take()
}

/** Decodes the first `columns` into `out` column-major; returns the number of values per metric. */
export function decodeBaseChunk(bytes: Uint8Array, out: Float64Array, columns = METRIC_COUNT): number {
  const source = new ByteSource(bytes)
  const { n } = readHead(source)
  decodeColumns(source, out, n, columns)
  return n
}

const column = new Float64Array(256)

/**
 * Coarse tiers: count, minimum, maximum - minimum and sum - minimum * count per metric. The differences are zero for an
 * idle or steady object. A count of zero is an unknown bucket. Counts that equal those of the metric before are not
 * repeated. Trailing metrics without a known value are left out.
 */
export function encodeCoarseChunk(sink: ByteSink, first_s: number, points: Points): Uint8Array {
  const { n, count, minimum, maximum, sum } = points
  writeHead(sink, first_s, n)
  const known = knownMetrics(points)
  for (let metric = 0; metric < known; metric++) {
    const at = metric * n
    const same = metric > 0 && sameCounts(count, at - n, at, n)
    sink.u8(same ? 1 : 0)
    if (!same) encodeColumn(sink, count, at, n)
    encodeColumn(sink, minimum, at, n)
    for (let i = 0; i < n; i++) column[i] = (maximum[at + i] ?? 0) - (minimum[at + i] ?? 0)
    encodeColumn(sink, column, 0, n)
    for (let i = 0; i < n; i++) column[i] = (sum[at + i] ?? 0) - (minimum[at + i] ?? 0) * (count[at + i] ?? 0)
    encodeColumn(sink, column, 0, n)
  }
  return sink.take()
}

/** Returns the number of metrics up to the last one with a known value. */
function knownMetrics({ n, count, columns }: Points): number {
  for (let at = columns * n; at > 0; at--) if (count[at - 1] !== 0) return Math.ceil(at / n)
  return 0
}

function sameCounts(count: Float64Array, a: number, b: number, n: number): boolean {
  for (let i = 0; i < n; i++) if (count[a + i] !== count[b + i]) return false
  return true
}

/** Decodes as many metrics as `out` has columns; returns where the last of them ended, for `check`. */
export function decodeCoarseChunk(bytes: Uint8Array, out: Points): number {
  const source = new ByteSource(bytes)
  const { n } = readHead(source)
  out.reset(n)
  const { count, minimum, maximum, sum } = out
  for (let metric = 0; metric < out.columns && !source.isAtEnd; metric++) {
    const at = metric * n
    if (source.u8() === 1) count.copyWithin(at, at - n, at)
    else decodeColumn(source, count, at, n)
    decodeColumn(source, minimum, at, n)
    decodeColumn(source, maximum, at, n)
    decodeColumn(source, sum, at, n)
    for (let i = at; i < at + n; i++) {
      const lowest = minimum[i] ?? 0
      maximum[i] = (maximum[i] ?? 0) + lowest
      sum[i] = (sum[i] ?? 0) + lowest * (count[i] ?? 0)
    }
  }
  return source.at
}
