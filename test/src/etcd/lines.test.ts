import fc from 'fast-check'
import t from 'tap'
import { linesOf } from '../../../src/etcd/lines.ts'

async function* piecesOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces
}

async function collected(pieces: readonly Uint8Array[], bytesMax = 1_000_000): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const line of linesOf(piecesOf(pieces), bytesMax)) lines.push(line)
  return lines
}

t.test('lines are whole wherever the pieces end, even within a letter', async () => {
  const line = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes('\n'))
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat(400)), async (lines, cuts) => {
      const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length]
      const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
      return JSON.stringify(await collected(pieces)) === JSON.stringify(lines)
    }),
  )
})

t.test('empty lines are ignored, and so is an unfinished one', async (test) => {
  test.same(await collected([Buffer.from('a\n\n\nb\nc')]), ['a', 'b'])
  test.same(await collected([]), [])
})

t.test('a line that is too long is refused before it is complete', async (test) => {
  await test.rejects(collected([Buffer.from('abc'), Buffer.from('def')], 5), /too long/)
  await test.rejects(collected([Buffer.from('abcdef\n')], 5), /too long/)
  test.same(await collected([Buffer.from('abcde\nabcde\n')], 5), ['abcde', 'abcde'])
})

t.test('nothing is read ahead of the reader', async (test) => {
  let given = 0
  async function* counted(): AsyncGenerator<Uint8Array> {
    for (;;) {
      given += 1
      yield Buffer.from('one\ntwo\n')
    }
  }
  const lines = linesOf(counted(), 100)
  for (const wanted of ['one', 'two', 'one']) test.equal((await lines.next()).value, wanted)
  test.equal(given, 2)
  await lines.return()
})
