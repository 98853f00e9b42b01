import t from 'tap'
import { AnswerCache, HISTORY_CACHE_BYTES, HISTORY_CACHE_ENTRY_BYTES } from '../../../src/stats/answer-cache.ts'

const answer = (size: number) => {
  const whole = { body: new Uint8Array(size), etag: '"x"', contentType: 'application/json' as const, vary: 'Accept' }
  return { whole, ofNow: whole }
}

t.test('limited in bytes; the least recently requested answer is dropped first', async (t) => {
  const cache = new AnswerCache()
  const size = HISTORY_CACHE_ENTRY_BYTES
  const room = HISTORY_CACHE_BYTES / size
  for (let i = 0; i < room; i++) cache.put(`k${i}`, answer(size))
  t.ok(cache.get('k0'))
  cache.put('one more', answer(size))
  t.strictSame(
    [cache.get('k1'), cache.get('k0') !== undefined, cache.size_bytes],
    [undefined, true, HISTORY_CACHE_BYTES],
  )
  cache.put('large', answer(size + 1))
  t.equal(cache.get('large'), undefined)
  cache.clear()
  t.strictSame([cache.size_bytes, cache.get('k0')], [0, undefined])
})

t.test('an answer is wanted when it is requested again', (t) => {
  const cache = new AnswerCache()
  t.strictSame([cache.wants('a'), cache.wants('b'), cache.wants('a'), cache.wants('a')], [false, false, true, false])
  for (let i = 0; i < 5_000; i++) cache.wants(`k${i}`)
  t.equal(cache.wants('b'), false, 'too long ago')
  cache.wants('c')
  cache.clear()
  t.equal(cache.wants('c'), false)
  t.end()
})
