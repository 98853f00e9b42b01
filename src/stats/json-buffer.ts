const DIGIT_ZERO = 0x30
const POINT = 0x2e
const SHORT_TEXT = 32
const BILLION = 1_000_000_000
const MICRO = 1_000_000
/** Above this a value times a million is no exact integer any more. */
const FIXED_MAX = Number.MAX_SAFE_INTEGER / MICRO

const encoder = new TextEncoder()

/** Growing byte output for answers. One is reused for many; `take` copies what was written. */
export class JsonBuffer {
  #bytes: Buffer = Buffer.allocUnsafeSlow(64 * 1_024)
  #length = 0

  get length(): number {
    return this.#length
  }

  clear(): void {
    this.#length = 0
  }

  /** A copy of what was written, to keep. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#length)
    this.#bytes.copy(taken, 0, 0, this.#length)
    return taken
  }

  /** What was written, without a copy: overwritten by whatever is written next. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Whether these bytes were written. */
  equals(bytes: Uint8Array): boolean {
    return bytes.length === this.#length && this.#bytes.compare(bytes, 0, bytes.length, 0, this.#length) === 0
  }

  /** Makes room for `more` bytes. */
  reserve(more: number): void {
    const wanted = this.#length + more
    if (wanted <= this.#bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, wanted))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }

  byte(value: number): void {
    this.reserve(1)
    this.#bytes[this.#length++] = value
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  /** Any text, as it is. */
  text(text: string): void {
    this.reserve(text.length * 3)
    if (text.length <= SHORT_TEXT && this.#ascii(text)) return
    this.#length += this.#bytes.write(text, this.#length, 'utf8')
  }

  /** A loop beats the call for the length of a word. */
  #ascii(text: string): boolean {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7e) return false
      this.#bytes[this.#length + i] = code
    }
    this.#length += text.length
    return true
  }

  /** Many bytes of another buffer. */
  append(source: Buffer, from: number, to: number): void {
    this.reserve(to - from)
    this.#length += source.copy(this.#bytes, this.#length, from, to)
  }

  /** A few bytes of another buffer: a loop beats the call of a copy for the length of a number. */
  copy(source: Uint8Array, from: number, to: number): void {
    this.reserve(to - from)
    for (let i = from; i < to; i++) this.#bytes[this.#length++] = source[i] ?? 0
  }

  /** Undoes the last byte, for a comma too many. */
  back(): void {
    this.#length--
  }

  /** Finite and not negative. Integers in full; fractions with up to six decimals, enough to get a bucket's sum back from its average. */
  number(value: number): void {
    this.reserve(32)
    if (Number.isInteger(value)) return this.#integer(value)
    if (value > FIXED_MAX) return this.text(String(value))
    const scaled = Math.round(value * MICRO)
    const whole = Math.floor(scaled / MICRO)
    this.#integer(whole)
    this.#fraction(scaled - whole * MICRO)
  }

  #integer(value: number): void {
    if (value >= BILLION) {
      const high = Math.floor(value / BILLION)
      this.#integer(high)
      this.#padded(value - high * BILLION, 9)
      return
    }
    let digits = 1
    for (let limit = 10; value >= limit; limit *= 10) digits++
    this.#padded(value, digits)
  }

  #padded(value: number, digits: number): void {
    let rest = value | 0
    for (let at = this.#length + digits - 1; at >= this.#length; at--) {
      const next = (rest / 10) | 0
      this.#bytes[at] = DIGIT_ZERO + rest - next * 10
      rest = next
    }
    this.#length += digits
  }

  #fraction(micro: number): void {
    if (micro === 0) return
    this.#bytes[this.#length++] = POINT
    this.#padded(micro, 6)
    while (this.#bytes[this.#length - 1] === DIGIT_ZERO) this.#length--
  }
}

/** Bytes of a constant, made once. */
export function ascii(text: string): Uint8Array {
  return encoder.encode(text)
}
