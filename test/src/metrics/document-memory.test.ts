import t from 'tap'
import { DocumentMemory } from '../../../src/metrics/document-memory.ts'

/** Writes so many bytes of this value into the memory of a document. */
function written(memory: DocumentMemory, value: number, length = 100_000) {
  const next = memory.next()
  const bytes = next.length < length ? Buffer.allocUnsafeSlow(length) : next
  const document = bytes.subarray(0, length).fill(value)
  return { document, hold: memory.lend(document) }
}

t.test('two documents alternate, and each stays unchanged until the next but one', async (test) => {
  const memory = new DocumentMemory()
  const [one, two] = [written(memory, 1), written(memory, 2)]
  test.not(two.document.buffer, one.document.buffer)
  test.equal(one.document[0], 1)
  const three = written(memory, 3)
  test.equal(three.document.buffer, one.document.buffer)
  test.equal(two.document[0], 2)
  test.equal(written(memory, 4).document.buffer, two.document.buffer)
})

t.test('a held one stays, and its memory belongs to the holder', async (test) => {
  const memory = new DocumentMemory()
  const one = written(memory, 1)
  const [first, second] = [one.hold(), one.hold()]
  first()
  first()
  const two = written(memory, 2)
  const three = written(memory, 3)
  test.equal(one.document[99_999], 1)
  test.not(three.document.buffer, one.document.buffer)
  second()
  test.equal(written(memory, 4).document.buffer, two.document.buffer)
  test.equal(one.document[0], 1)
})

t.test('memory that became too small or far too large is not used again', async (test) => {
  const memory = new DocumentMemory()
  const small = written(memory, 1)
  written(memory, 2, 1_000_000)
  const next = memory.next()
  test.not(next.buffer, small.document.buffer)
  test.ok(next.length >= 1_000_000)
  const other = new DocumentMemory()
  written(other, 1, 1_000_000)
  written(other, 2, 1_000)
  test.ok(other.next().length < 1_000_000)
})
