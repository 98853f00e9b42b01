const DIGIT_ZERO = 0x30
const DIGIT_NINE = 0x39
const MINUS = 0x2d
const POINT = 0x2e
const SHORT_TEXT = 32
const SMALLEST = 64 * 1_024
const BILLION = 1_000_000_000
const MICRO = 1_000_000
/** Above this, a value times a million is no longer an exact integer. */
const FIXED_MAX = Number.MAX_SAFE_INTEGER / MICRO

/** Maximum length of a number in this notation. */
const NUMBER_BYTES = 32
const COMMA = 0x2c
/** "00" to "99". */
const PAIRS = Uint8Array.from(
  { length: 200 },
  (_, i) => DIGIT_ZERO + (i % 2 === 0 ? Math.floor(i / 20) : (i >> 1) % 10),
)

const encoder = new TextEncoder()

const ownMemory = (bytes: number): Buffer => Buffer.allocUnsafeSlow(bytes)

/** A growing buffer for JSON answers, reused for many; `take` copies its contents. */
export class JsonBuffer {
  readonly #allocate: (bytes: number) => Buffer
  #bytes: Buffer
  #length = 0

  /** `allocate` provides the memory; by default it belongs to this thread alone. */
  constructor(allocate: (bytes: number) => Buffer = ownMemory) {
    this.#allocate = allocate
    this.#bytes = allocate(SMALLEST)
  }

  get length(): number {
    return this.#length
  }

  clear(): void {
    this.#length = 0
  }

  /** Returns a copy of the contents, to keep. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#length)
    this.#bytes.copy(taken, 0, 0, this.#length)
    return taken
  }

  /** Returns the contents, to keep, without a copy: later writes go to new memory. */
  give(): Buffer {
    const given = this.view()
    this.use(this.#allocate(SMALLEST))
    return given
  }

  /** Writes into these bytes from now on, while they suffice. */
  use(bytes: Buffer): void {
    this.#bytes = bytes
    this.#length = 0
  }

  /** Returns the contents without a copy: later writes overwrite them. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Returns whether the contents equal these bytes. */
  equals(bytes: Uint8Array): boolean {
    return bytes.length === this.#length && this.#bytes.compare(bytes, 0, bytes.length, 0, this.#length) === 0
  }

  /** Makes room for `more` bytes. */
  reserve(more: number): void {
    const wanted = this.#length + more
    if (wanted <= this.#bytes.length) return
    const grown = this.#allocate(Math.max(this.#bytes.length * 2, wanted))
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

  /** Writes any text unchanged. */
  text(text: string): void {
    this.reserve(text.length * 3)
    if (text.length <= SHORT_TEXT && this.#ascii(text)) return
    this.#length += this.#bytes.write(text, this.#length, 'utf8')
  }

  /** For the length of a word, a loop is faster than a call. */
  #ascii(text: string): boolean {
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7e) return false
      this.#bytes[this.#length + i] = code
    }
    this.#length += text.length
    return true
  }

  /** Copies many bytes from another buffer. */
  append(source: Buffer, from: number, to: number): void {
    this.reserve(to - from)
    this.#length += source.copy(this.#bytes, this.#length, from, to)
  }

  /** Copies a few bytes from another buffer: for the length of a number, a loop is faster than the call of a copy. */
  copy(source: Uint8Array, from: number, to: number): void {
    this.reserve(to - from)
    for (let i = from; i < to; i++) this.#bytes[this.#length++] = source[i] ?? 0
  }

  /** Leaves room for `bytes` to be written later. */
  skip(bytes: number): void {
    this.reserve(bytes)
    this.#length += bytes
  }

  /** Overwrites earlier contents. */
  over(at: number, source: Uint8Array, from: number, to: number): void {
    let place = at
    for (let i = from; i < to; i++) this.#bytes[place++] = source[i] ?? 0
  }

  /** Truncates to this length. */
  cut(length: number): void {
    this.#length = length
  }

  /** Removes the last byte, for a comma too many. */
  back(): void {
    this.#length--
  }

  /**
   * Writes a finite, non-negative number: integers in full, fractions with up to six decimals, which suffice to recover
   * a bucket's sum from its average.
   */
  number(value: number): void {
    this.reserve(NUMBER_BYTES)
    this.#length = putNumber(this.#bytes, this.#length, value)
  }

  /**
   * Writes the values from index `from` on, each followed by a comma and NaN as null. Stores where each begins in
   * `marks` from index `mark` on, followed by where the last one ends.
   */
  list(values: Float64Array, from: number, count: number, marks: Uint16Array, mark: number): void {
    this.reserve(count * (NUMBER_BYTES + 1))
    const bytes = this.#bytes
    let at = this.#length
    for (let i = 0; i < count; i++) {
      marks[mark + i] = at
      const value = values[from + i] ?? Number.NaN
      if (value === value) at = putNumber(bytes, at, value)
      else {
        bytes[at++] = 0x6e
        bytes[at++] = 0x75
        bytes[at++] = 0x6c
        bytes[at++] = 0x6c
      }
      bytes[at++] = COMMA
    }
    marks[mark + count] = at
    this.#length = at
  }
}

/** Returns the position after the number. */
function putNumber(bytes: Buffer, at: number, value: number): number {
  if (value < BILLION) {
    const whole = value | 0
    if (whole === value) return putInteger(bytes, at, whole)
  }
  if (Number.isInteger(value)) return putLarge(bytes, at, value)
  if (value > FIXED_MAX) return at + bytes.write(String(value), at, 'latin1')
  const scaled = Math.round(value * MICRO)
  const whole = Math.floor(scaled / MICRO)
  const micro = scaled - whole * MICRO
  // As 32-bit integers, both stay in registers.
  const next = whole < BILLION ? putInteger(bytes, at, whole | 0) : putLarge(bytes, at, whole)
  return micro === 0 ? next : putFraction(bytes, next, micro | 0)
}

/** For values below a billion. Two digits at a time, because divisions are the cost. */
function putInteger(bytes: Buffer, at: number, value: number): number {
  if (value < 10) {
    bytes[at] = DIGIT_ZERO + value
    return at + 1
  }
  const end = at + digitsOf(value)
  let rest = value
  let place = end
  while (rest >= 100) {
    const higher = (rest / 100) | 0
    const pair = (rest - higher * 100) << 1
    bytes[--place] = PAIRS[pair + 1] ?? 0
    bytes[--place] = PAIRS[pair] ?? 0
    rest = higher
  }
  bytes[--place] = PAIRS[(rest << 1) + 1] ?? 0
  if (rest >= 10) bytes[--place] = PAIRS[rest << 1] ?? 0
  return end
}

function digitsOf(value: number): number {
  if (value < 10_000) return value < 100 ? 2 : value < 1_000 ? 3 : 4
  if (value < 1_000_000) return value < 100_000 ? 5 : 6
  return value < 10_000_000 ? 7 : value < 100_000_000 ? 8 : 9
}

function putLarge(bytes: Buffer, at: number, value: number): number {
  if (value < BILLION) return putInteger(bytes, at, value | 0)
  const high = Math.floor(value / BILLION)
  const next = putLarge(bytes, at, high)
  // Nine digits, including leading zeros.
  let rest = (value - high * BILLION) | 0
  for (let place = next + 7; place > next; place -= 2) {
    const higher = (rest / 100) | 0
    putPair(bytes, place, rest - higher * 100)
    rest = higher
  }
  bytes[next] = DIGIT_ZERO + rest
  return next + 9
}

/** Six decimals without trailing zeros. */
function putFraction(bytes: Buffer, at: number, micro: number): number {
  const thousands = (micro / 10_000) | 0
  const rest = micro - thousands * 10_000
  const middle = (rest / 100) | 0
  bytes[at] = POINT
  putPair(bytes, at + 1, thousands)
  putPair(bytes, at + 3, middle)
  putPair(bytes, at + 5, rest - middle * 100)
  let end = at + 7
  while (bytes[end - 1] === DIGIT_ZERO) end--
  return end
}

function putPair(bytes: Buffer, at: number, value: number): void {
  bytes[at] = PAIRS[value << 1] ?? 0
  bytes[at + 1] = PAIRS[(value << 1) + 1] ?? 0
}

/** Returns the bytes of a constant, encoded once. */
export function ascii(text: string): Uint8Array {
  return encoder.encode(text)
}

/** Returns whether the bytes are an integer in JSON: anything else is quoted, whatever the other side sends. */
export function isJsonInteger(bytes: Uint8Array, from: number, to: number): boolean {
  const first = bytes[from] === MINUS ? from + 1 : from
  if (first === to || (bytes[first] === DIGIT_ZERO && first + 1 < to)) return false
  for (let i = first; i < to; i++) if ((bytes[i] ?? 0) < DIGIT_ZERO || (bytes[i] ?? 0) > DIGIT_NINE) return false
  return true
}
