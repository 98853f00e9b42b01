import t from 'tap'
import { behindWhatCame, framingOf, UNWANTED_BODY } from '../../../src/http/framing.ts'

/** A request with these headers. */
const request = (...headers: readonly (readonly [name: string, value: string])[]) => ({
  getHeader: (name: string) => headers.find(([known]) => known === name)?.[1] ?? '',
  forEach: (look: (name: string, value: string) => void) => headers.forEach(([name, value]) => look(name, value)),
})

t.test('the end of a body: by a length, in chunks, or nowhere', async (test) => {
  test.equal(framingOf(request(['host', 'h']), 'GET'), 'no body')
  test.equal(framingOf(request(['host', 'h']), 'POST'), 'no body')
  test.equal(framingOf(request(['content-length', '0']), 'GET'), 'no body')
  test.equal(framingOf(request(['content-length', '2']), 'POST'), 'length')
  test.equal(framingOf(request(['content-length', '2']), 'GET'), 'length')
  test.equal(framingOf(request(['transfer-encoding', 'Chunked']), 'POST'), 'chunked')
})

t.test('headers that can be read in two ways are ambiguous', async (test) => {
  const one = (name: string, value: string) => [name, value] as const
  for (const headers of [
    [one('content-length', '2'), one('content-length', '2')],
    [one('content-length', '2'), one('transfer-encoding', 'chunked')],
    [one('transfer-encoding', 'chunked'), one('transfer-encoding', 'chunked')],
    [one('transfer-encoding', 'gzip, chunked')],
    [one('transfer-encoding', '')],
    [one('host', 'a'), one('host', 'b')],
    [one('authorization', 'a'), one('authorization', 'b')],
    ...['', '+2', '-2', '2,2', '0x2', '2.0', 'a', '２', '1'.repeat(16)].map((value) => [one('content-length', value)]),
  ])
    test.equal(framingOf(request(...headers), 'POST'), 'ambiguous', JSON.stringify(headers))
})

t.test('the answer to an ambiguous request waits until its further bytes were checked', async (test) => {
  let isLookedAt = false
  setImmediate(() => (isLookedAt = true))
  test.equal(await behindWhatCame(UNWANTED_BODY), UNWANTED_BODY)
  test.ok(isLookedAt)
})
