import { UnreadableError } from './fields.ts'

const NEWLINE = 0x0a

/**
 * The lines of a stream whose pieces end anywhere, also inside a letter. Nothing is read ahead: the next piece is asked
 * for when the lines before it were taken. A last line that is not ended is none. Throws `UnreadableError` for a line
 * that is too long.
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
