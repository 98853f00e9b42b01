import { UnreadableError } from './fields.ts'

const NEWLINE = 0x0a

/**
 * Yields the lines of a stream whose pieces may end anywhere, even inside a character. It does not read ahead: the next
 * piece is read when the lines before it were taken. A last line without a line break is dropped. Throws
 * `UnreadableError` for a line that is too long.
 */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<string, void> {
  let begun: Uint8Array[] = []
  let length = 0
  for await (const piece of pieces) {
    let from = 0
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, from)) {
      if (length + end - from > bytesMax) throw new UnreadableError('a line of its answer is too long')
      const line = Buffer.concat([...begun, piece.subarray(from, end)])
      begun = []
      length = 0
      from = end + 1
      if (line.length > 0) yield line.toString()
    }
    begun.push(piece.subarray(from))
    length += piece.length - from
    if (length > bytesMax) throw new UnreadableError('a line of its answer is too long')
  }
}
