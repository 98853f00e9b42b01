/** Growing byte output. The buffer is reused: `take` copies. */
export class ByteSink {
  bytes = new Uint8Array(4_096)
  length = 0

  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.length + more))
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  u8(value: number): void {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  u32(value: number): void {
    this.reserve(4)
    this.bytes[this.length++] = value >>> 24
    this.bytes[this.length++] = value >>> 16
    this.bytes[this.length++] = value >>> 8
    this.bytes[this.length++] = value
  }

  /** Writes a safe integer from 0 on: seven bits per byte, lowest first. */
  varint(value: number): void {
    this.reserve(8)
    let rest = value
    while (rest > 0x7fffffff) {
      this.bytes[this.length++] = (rest % 128) | 0x80
      rest = Math.floor(rest / 128)
    }
    while (rest > 0x7f) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    this.bytes[this.length++] = rest
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  take(): Uint8Array {
    return this.bytes.slice(0, this.length)
  }
}

/** Reads the output of ByteSink. */
export class ByteSource {
  bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length
  }

  u8(): number {
    return this.bytes[this.at++] ?? 0
  }

  u32(): number {
    return (this.u8() * 0x1000000 + (this.u8() << 16) + (this.u8() << 8) + this.u8()) >>> 0
  }

  varint(): number {
    let byte = this.bytes[this.at++] ?? 0
    if (byte < 0x80) return byte
    let value = byte & 0x7f
    let factor = 128
    do {
      byte = this.bytes[this.at++] ?? 0
      value += (byte & 0x7f) * factor
      factor *= 128
    } while (byte >= 0x80)
    return value
  }
}

export function varintSize(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x200000) return 3
  if (value < 0x10000000) return 4
  return value < 0x800000000 ? 5 : value < 0x40000000000 ? 6 : value < 0x2000000000000 ? 7 : 8
}
