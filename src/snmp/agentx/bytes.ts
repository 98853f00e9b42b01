/** An object identifier, as its numbers. */
export type Oid = readonly number[]

/** SNMP's limit for an identifier. */
export const OID_LENGTH_MAX = 128
const INTERNET: Oid = [1, 3, 6, 1]

export type Value =
  | { readonly kind: 'integer' | 'gauge' | 'ticks'; readonly value: number }
  | { readonly kind: 'counter64'; readonly value: bigint }
  | { readonly kind: 'text'; readonly value: string }

/** The words that replace a value. */
export type NoValue = 'noSuchObject' | 'noSuchInstance' | 'endOfMibView'

export interface VarBind {
  readonly oid: Oid
  readonly value: Value | NoValue
}

const TYPES = {
  integer: 2,
  text: 4,
  gauge: 66,
  ticks: 67,
  counter64: 70,
  noSuchObject: 128,
  noSuchInstance: 129,
  endOfMibView: 130,
} as const

/** Bytes of a PDU that contradict themselves. */
export class Malformed extends Error {}

/** Reads the parts of a PDU in its announced byte order. Throws Malformed for parts that are cut off or impossible. */
export class Reader {
  readonly #bytes: Buffer
  readonly #isBig: boolean
  #at: number

  constructor(bytes: Buffer, isBig: boolean, at = 0) {
    this.#bytes = bytes
    this.#isBig = isBig
    this.#at = at
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }
  u8(): number {
    return this.#bytes.readUInt8(this.#take(1))
  }
  u16(): number {
    const at = this.#take(2)
    return this.#isBig ? this.#bytes.readUInt16BE(at) : this.#bytes.readUInt16LE(at)
  }
  u32(): number {
    const at = this.#take(4)
    return this.#isBig ? this.#bytes.readUInt32BE(at) : this.#bytes.readUInt32LE(at)
  }
  /** By RFC 2741, 5.1. */
  oid(): { readonly oid: Oid; readonly include: boolean } {
    const [count, prefix, include] = [this.u8(), this.u8(), this.u8()]
    this.u8()
    if (count > OID_LENGTH_MAX) throw new Malformed(`an object identifier of ${count} numbers`)
    const oid: number[] = prefix === 0 ? [] : [...INTERNET, prefix]
    for (let i = 0; i < count; i++) oid.push(this.u32())
    return { oid, include: include !== 0 }
  }
  /** By RFC 2741, 5.3. */
  octets(): Buffer {
    const length = this.u32()
    if (length > this.left) throw new Malformed(`text of ${length} bytes where ${this.left} are left`)
    const at = this.#take(length)
    this.#take(-length & 3)
    return this.#bytes.subarray(at, at + length)
  }

  #take(length: number): number {
    if (length > this.left) throw new Malformed(`${length} bytes more where ${this.left} are left`)
    this.#at += length
    return this.#at - length
  }
}

/** Writes the parts of a PDU in network byte order. */
export class Writer {
  #bytes = Buffer.alloc(512)
  #length = 0

  get length(): number {
    return this.#length
  }
  /** Returns a copy. */
  bytes(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length))
  }
  u8(value: number): void {
    const at = this.#room(1)
    this.#bytes.writeUInt8(value, at)
  }
  u16(value: number): void {
    const at = this.#room(2)
    this.#bytes.writeUInt16BE(value, at)
  }
  u32(value: number): void {
    const at = this.#room(4)
    this.#bytes.writeUInt32BE(value, at)
  }
  oid(oid: Oid): void {
    const prefix = oid[4] ?? 0
    const isShort = prefix > 0 && prefix < 256 && INTERNET.every((number, index) => oid[index] === number)
    const skipped = isShort ? INTERNET.length + 1 : 0
    this.u8(oid.length - skipped)
    this.u8(isShort ? prefix : 0)
    this.u16(0)
    for (let i = skipped; i < oid.length; i++) this.u32(oid[i] ?? 0)
  }
  octets(text: string | Uint8Array): void {
    const bytes = Buffer.from(text)
    this.u32(bytes.length)
    const at = this.#room(bytes.length + (-bytes.length & 3))
    bytes.copy(this.#bytes, at)
  }
  /** By RFC 2741, 5.4. */
  varBind({ oid, value }: VarBind): void {
    this.u16(TYPES[typeof value === 'string' ? value : value.kind])
    this.u16(0)
    this.oid(oid)
    if (typeof value === 'string') return
    if (value.kind === 'text') this.octets(value.value)
    else if (value.kind === 'counter64') {
      const at = this.#room(8)
      this.#bytes.writeBigUInt64BE(BigInt.asUintN(64, value.value), at)
    } else this.u32(value.value >>> 0)
  }

  /** Makes room of zero bytes; returns its start. Called before the buffer is accessed, as it may be replaced. */
  #room(length: number): number {
    const end = this.#length + length
    if (end > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(end, this.#bytes.length * 2))
      this.#bytes.copy(larger)
      this.#bytes = larger
    }
    const at = this.#length
    this.#length = end
    return at
  }
}
