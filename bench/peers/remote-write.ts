/** The body of a Prometheus remote write, which VictoriaMetrics accepts as well: protobuf inside a snappy block. */

export interface TimedValue {
  readonly value: number
  readonly time_ms: number
}

const LITERAL_BYTES_MAX = 65_536
/** Tag of a literal whose length is in the next two bytes. */
const LITERAL_OF_TWO_BYTES = 61 << 2

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = BigInt(value)
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}

/** Encodes a field of bytes: text or another message. */
function field(number: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(content.length), content])
}

function sampleBytes(value: number, time_ms: number): Buffer {
  const double = Buffer.alloc(9)
  double[0] = (1 << 3) | 1
  double.writeDoubleLE(value, 1)
  return Buffer.concat([double, Buffer.from([2 << 3]), varint(time_ms)])
}

/** Encodes the constant part of a series. */
export function labelBytes(labels: Readonly<Record<string, string>>): Buffer {
  const sorted = Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Buffer.concat(
    sorted.map(([name, value]) => field(1, Buffer.concat([field(1, Buffer.from(name)), field(2, Buffer.from(value))]))),
  )
}

export function seriesBytes(labels: Buffer, samples: readonly TimedValue[]): Buffer {
  const parts = samples.map(({ value, time_ms }) => field(2, sampleBytes(value, time_ms)))
  return field(1, Buffer.concat([labels, ...parts]))
}

/** Encodes a snappy block without compression: literals only. */
export function snappyBlock(content: Buffer): Buffer {
  const parts = [varint(content.length)]
  for (let at = 0; at < content.length; at += LITERAL_BYTES_MAX) {
    const literal = content.subarray(at, at + LITERAL_BYTES_MAX)
    const length = literal.length - 1
    parts.push(Buffer.from([LITERAL_OF_TWO_BYTES, length & 255, length >> 8]), literal)
  }
  return Buffer.concat(parts)
}
