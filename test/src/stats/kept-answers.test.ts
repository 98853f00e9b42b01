import t from 'tap'
import { ascii, JsonBuffer } from '../../../src/base/json-buffer.ts'
import { KeptAnswers, writePieces } from '../../../src/stats/kept-answers.ts'

t.test('an answer is made once per tick, and stays as long as its bytes do', (t) => {
  const kept = new KeptAnswers('n')
  const out = new JsonBuffer()
  const made = { plans: 0, texts: 0 }
  const ask = (sequence: number, text: string, version = 1) =>
    kept.answer(
      { kind: 'all' },
      { sequence, version },
      () => {
        made.plans++
        return []
      },
      () => {
        made.texts++
        out.clear()
        out.text(text)
        return out
      },
    )
  const first = ask(1, 'a')
  t.equal(ask(1, 'b'), first, 'of the same tick')
  t.equal(ask(2, 'a'), first, 'the same bytes')
  t.not(ask(3, 'b'), first)
  t.strictSame(made, { plans: 1, texts: 3 })
  t.not(ask(3, 'b', 2)?.etag, ask(3, 'b', 1)?.etag, 'other names')
  kept.drop(4)
  t.not(ask(4, 'b'), first)
  t.end()
})

t.test('an unknown id: no answer, and nothing is kept of it', (t) => {
  const kept = new KeptAnswers('n')
  const write = (): JsonBuffer => {
    throw new Error('nothing to write')
  }
  const now = { sequence: 1, version: 1 }
  t.equal(
    kept.answer({ kind: 'rip', id: 'x' }, now, () => undefined, write),
    undefined,
  )
  t.end()
})

t.test('pieces in their envelope', (t) => {
  const out = new JsonBuffer()
  writePieces(out, 'all "well"', [ascii('['), [1, 2], ascii(']')], (element) => out.text(`{"n":${element}`))
  t.strictSame(JSON.parse(Buffer.from(out.view()).toString()), {
    status: 'success',
    message: 'all "well"',
    data: [{ n: 1 }, { n: 2 }],
  })
  t.end()
})
