const [QUOTE, BACKSLASH, COMMA, CLOSE] = [0x22, 0x5c, 0x2c, 0x7d] as const

/** Iterates over the members of a JSON object whose values are neither objects nor lists. */
export class FlatMembers {
  readonly #bytes: Uint8Array
  #at: number
  /** Start of the member (the quote of its name), start of its value, and end of the value. */
  start = 0
  value = 0
  end = 0

  /** `from`: the position of the object's opening brace. */
  constructor(bytes: Uint8Array, from: number) {
    this.#bytes = bytes
    this.#at = from + 1
  }

  /** Moves to the next member; returns false behind the last one. */
  next(): boolean {
    const bytes = this.#bytes
    if (bytes[this.#at] !== QUOTE) return false
    this.start = this.#at
    this.value = this.#behindText(this.#at) + 1
    let at = bytes[this.value] === QUOTE ? this.#behindText(this.value) : this.value
    while (at < bytes.length && bytes[at] !== COMMA && bytes[at] !== CLOSE) at++
    this.end = at
    this.#at = at + 1
    return true
  }

  #behindText(quote: number): number {
    const bytes = this.#bytes
    let at = quote + 1
    while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
    return at + 1
  }
}

export function sameBytes(
  a: Uint8Array,
  from: number,
  to: number,
  b: Uint8Array,
  otherFrom: number,
  otherTo: number,
): boolean {
  const length = to - from
  if (length !== otherTo - otherFrom) return false
  for (let i = 0; i < length; i++) if (a[from + i] !== b[otherFrom + i]) return false
  return true
}
