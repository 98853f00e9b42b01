import type { Duplex } from 'node:stream'
import { lengthPrefixed } from '../../cluster/length-prefixed.ts'

/** Messages between a joining node and a member: JSON in UTF-8 behind its length in four bytes. */
const HEAD_BYTES = 4

/** The received data is no message, or incomplete. */
export class MessageError extends Error {
  override readonly name = 'MessageError'
}

export const encodeMessage = (value: unknown): Buffer => lengthPrefixed([JSON.stringify(value)])

/**
 * Reads the one message of the other side. All data behind it is dropped, so that the end of the connection is noticed.
 *
 * @throws {MessageError}
 */
export function readMessage(socket: Duplex, bytes_max: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let [had, length] = [0, -1]
    let isSettled = false
    const fail = (why: string) => {
      isSettled = true
      reject(new MessageError(why))
    }
    socket.on('data', (piece: Buffer) => {
      if (isSettled) return
      pieces.push(piece)
      had += piece.length
      if (length < 0 && had >= HEAD_BYTES) length = Buffer.concat(pieces).readUInt32BE()
      if (length > bytes_max) fail(`it announces ${length} bytes, but at most ${bytes_max} are allowed`)
      else if (length >= 0 && had >= HEAD_BYTES + length) {
        isSettled = true
        settle(Buffer.concat(pieces).subarray(HEAD_BYTES, HEAD_BYTES + length), resolve, reject)
      }
    })
    const end = () => fail(`the connection ended after ${had} of its bytes`)
    socket.once('end', end)
    socket.once('close', end)
    if (socket.destroyed) end()
  })
}

function settle(bytes: Buffer, resolve: (value: unknown) => void, reject: (error: Error) => void): void {
  try {
    resolve(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)))
  } catch {
    reject(new MessageError('it is not JSON'))
  }
}
