/**
 * Generic netlink on a little-endian machine, as is every one that this daemon runs on: a message has a header of 16
 * bytes, one of 4 bytes for the command, and attributes padded to 4 bytes each.
 */
export const MESSAGE_HEADER = 16
export const GENERIC_HEADER = 4
export const ATTRIBUTE_HEADER = 4

export const MESSAGE = { error: 2, done: 3, overrun: 4 } as const
export const FLAG = { request: 0x1, interrupted: 0x10, dump: 0x300 } as const
/** The upper bits of an attribute's type say that it is nested, or in network byte order. */
export const ATTRIBUTE_TYPE_MASK = 0x3f_ff
const NESTED = 0x80_00

export const pad = (length: number): number => (length + 3) & ~3

/** Writes one message, whose length is filled in at the end. */
export class MessageWriter {
  readonly #bytes: Uint8Array<ArrayBuffer>
  readonly #view: DataView
  #length = 0

  constructor(size = 256) {
    this.#bytes = new Uint8Array(size)
    this.#view = new DataView(this.#bytes.buffer)
  }

  begin(type: number, flags: number, sequence: number, port = 0): void {
    this.#bytes.fill(0)
    this.#view.setUint16(4, type, true)
    this.#view.setUint16(6, flags, true)
    this.#view.setUint32(8, sequence, true)
    this.#view.setUint32(12, port, true)
    this.#length = MESSAGE_HEADER
  }

  command(command: number, version: number): void {
    this.#bytes[this.#length] = command
    this.#bytes[this.#length + 1] = version
    this.#length += GENERIC_HEADER
  }

  /** Opens a nested attribute; returns the position to pass to `close`. */
  open(type: number): number {
    const at = this.#length
    this.#view.setUint16(at + 2, type | NESTED, true)
    this.#length += ATTRIBUTE_HEADER
    return at
  }

  close(at: number): void {
    this.#view.setUint16(at, this.#length - at, true)
  }

  bytes(type: number, value: Uint8Array): void {
    const at = this.#attribute(type, value.length)
    this.#bytes.set(value, at)
  }

  u16(type: number, value: number): void {
    this.#view.setUint16(this.#attribute(type, 2), value, true)
  }

  /** Ports are in network byte order. */
  port(type: number, value: number): void {
    this.#view.setUint16(this.#attribute(type, 2), value)
  }

  u32(type: number, value: number): void {
    this.#view.setUint32(this.#attribute(type, 4), value, true)
  }

  u64(type: number, value: number): void {
    const at = this.#attribute(type, 8)
    this.#view.setBigUint64(at, BigInt(value), true)
  }

  /** Writes a text with its terminating zero. */
  text(type: number, value: string): void {
    this.bytes(type, Buffer.from(`${value}\0`))
  }

  /** Writes the number after the header of an error or of the end of a dump. */
  code(value: number): void {
    this.#view.setInt32(this.#length, value, true)
    this.#length += 4
  }

  #attribute(type: number, length: number): number {
    const at = this.#length
    this.#view.setUint16(at, ATTRIBUTE_HEADER + length, true)
    this.#view.setUint16(at + 2, type, true)
    this.#length = at + pad(ATTRIBUTE_HEADER + length)
    return at + ATTRIBUTE_HEADER
  }

  /** Returns the message; the next one overwrites it. */
  end(): Uint8Array<ArrayBuffer> {
    this.#view.setUint32(0, this.#length, true)
    return this.#bytes.subarray(0, this.#length)
  }
}

/** Returns where the attribute ends in [at, end); throws if it does not fit. */
export function attributeEnd(view: DataView, at: number, end: number): number {
  const length = view.getUint16(at, true)
  if (length < ATTRIBUTE_HEADER || at + length > end) throw new NetlinkError('its answer is malformed')
  return at + length
}

/** An error, in words that follow the name of its subject; `code` is the errno, if the kernel gave one. */
export class NetlinkError extends Error {
  readonly code: number | undefined

  constructor(message: string, code?: number) {
    super(message)
    this.code = code
  }
}
