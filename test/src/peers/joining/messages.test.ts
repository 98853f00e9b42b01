import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { encodeMessage, MessageError, readMessage } from '../../../../src/peers/joining/messages.ts'

/** Returns the message read from these bytes, which arrive in these pieces. */
async function readIn(pieces: readonly Uint8Array[], bytes_max = 1_000): Promise<unknown> {
  const stream = new PassThrough()
  const message = readMessage(stream, bytes_max)
  for (const piece of pieces) stream.write(piece)
  stream.end()
  return await message
}

/** After a length of four bytes. */
const framed = (bytes: Uint8Array, length = bytes.length) => {
  const head = Buffer.alloc(4)
  head.writeUInt32BE(length)
  return Buffer.concat([head, bytes])
}

t.test('any value arrives as it was sent, in any pieces', async () => {
  const pieces = fc.tuple(fc.jsonValue(), fc.array(fc.nat(60)))
  await fc.assert(
    fc.asyncProperty(pieces, async ([value, cuts]) => {
      const bytes = encodeMessage(value)
      const at = [0, ...cuts.toSorted((a, b) => a - b).filter((cut) => cut < bytes.length), bytes.length]
      const cut = at.slice(1).map((end, index) => bytes.subarray(at[index], end))
      return JSON.stringify(await readIn(cut, 100_000)) === JSON.stringify(value)
    }),
    { numRuns: 200 },
  )
})

t.test('the length has four bytes, the highest first', async (test) => {
  test.same(encodeMessage({}), Buffer.from([0, 0, 0, 2, 0x7b, 0x7d]))
})

t.test('a message that is too long is refused by its length, before it arrives', async (test) => {
  const stream = new PassThrough()
  const message = readMessage(stream, 10)
  stream.write(Buffer.from([0, 0, 0, 11]))
  await test.rejects(message, { name: 'MessageError', message: /11 bytes, but at most 10/ })
  test.equal(await readIn([framed(Buffer.from('"12345678"'))], 10), '12345678')
  await test.rejects(readIn([Buffer.from('GET / HTTP/1.1\r\n\r\n')]), MessageError)
})

t.test('anything but complete UTF-8 JSON is refused', async (test) => {
  const wrong = [
    framed(Buffer.from('{')),
    framed(Buffer.from('')),
    framed(Buffer.from([0x22, 0xff, 0x22])),
    framed(Buffer.from('{}'), 3),
    Buffer.from([0, 0]),
    Buffer.alloc(0),
  ]
  for (const bytes of wrong) await test.rejects(readIn([bytes]), MessageError, bytes.toString('hex'))
  const gone = new PassThrough()
  gone.destroy()
  await test.rejects(readMessage(gone, 10), MessageError)
})

t.test('later bytes are dropped, and the end is noticed', async (test) => {
  const stream = new PassThrough()
  const message = readMessage(stream, 10)
  stream.write(Buffer.concat([encodeMessage(1), Buffer.alloc(100_000)]))
  test.equal(await message, 1)
  const ended = new Promise((resolve) => stream.once('end', resolve))
  stream.end()
  await ended
})
