import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { matches, negotiate } from '../../../src/http/prepared.ts'

const NOTHING = { ifNoneMatch: '', acceptEncoding: '' }
const text = 'some words, '.repeat(3_000)

t.test('prepared bytes keep their type, tag, age and headers', async (test) => {
  const body = Buffer.from('x')
  const ready = { body, contentType: 'text/plain', etag: '"t"', cacheControl: 'no-cache', headers: { 'X-A': 'b' } }
  const answer = await negotiate(ready, NOTHING)
  test.equal(answer.body, body, 'not copied')
  test.match(answer, { status: 200, contentType: 'text/plain' })
  test.same(answer.headers, { 'X-A': 'b', ETag: '"t"', 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' })
  test.equal(negotiate(ready, NOTHING), answer, 'made once')
  test.match(await negotiate({ body: '', vary: 'Accept, Accept-Encoding' }, NOTHING), {
    contentType: 'application/json',
    headers: { Vary: 'Accept, Accept-Encoding' },
  })
})

t.test('a client that has the bytes gets 304 with the same headers and no body', async (test) => {
  const ready = { body: 'x', etag: '"t"', cacheControl: 'no-cache', headers: { 'X-A': 'b' } }
  const answer = await negotiate(ready, { ...NOTHING, ifNoneMatch: '"t"' })
  test.match(answer, { status: 304, body: '' })
  test.same(answer.headers, { 'X-A': 'b', ETag: '"t"', 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' })
  test.equal(negotiate(ready, { ...NOTHING, ifNoneMatch: 'W/"t"' }), answer, 'made once')
  test.match(await negotiate(ready, { ...NOTHING, ifNoneMatch: '"other"' }), { status: 200 })
  test.match(await negotiate({ body: 'x' }, { ...NOTHING, ifNoneMatch: '*' }), { status: 200 }, 'no tag to match')
})

t.test('If-None-Match: lists, weak tags and the star', async (test) => {
  for (const sent of ['"t"', 'W/"t"', '"a", "t"', '"a",W/"t" , "b"', '*']) test.ok(matches(sent, '"t"'), sent)
  for (const sent of ['"T"', 't', '"tt"', '"a", "b"', 'W/t', '']) test.notOk(matches(sent, '"t"'), sent)
})

t.test('compressed once for all clients that accept it, with its own tag', async (test) => {
  for (const body of [Buffer.from(text), text.slice(0, 2_000)]) {
    const ready = { body, etag: '"t"' }
    for (const [acceptEncoding, unpack] of [
      ['gzip', gunzipSync],
      ['br, gzip;q=0.5', brotliDecompressSync],
    ] as const) {
      const first = await negotiate(ready, { ...NOTHING, acceptEncoding })
      const encoding = acceptEncoding.slice(0, 2) === 'br' ? 'br' : 'gzip'
      test.equal(unpack(first.body).toString(), body.toString())
      test.match(first.headers, { 'Content-Encoding': encoding, ETag: `"t-${encoding}"`, Vary: 'Accept-Encoding' })
      test.equal(negotiate(ready, { ...NOTHING, acceptEncoding }), first, 'once')
    }
    test.equal((await negotiate(ready, NOTHING)).body, body, 'unchanged for all others')
  }
})

t.test('a tag stands for one form: 304 before anything is compressed, and none for another form', async (test) => {
  const ready = { body: text, etag: '"t"' }
  const ask = async (ifNoneMatch: string, acceptEncoding: string) => {
    const answer = await negotiate(ready, { ifNoneMatch, acceptEncoding })
    return [answer.status, answer.headers['ETag']]
  }
  const early = negotiate(ready, { ifNoneMatch: '"t-gzip"', acceptEncoding: 'gzip' })
  test.notOk(early instanceof Promise)
  test.same(await ask('"t-gzip"', 'gzip'), [304, '"t-gzip"'])
  test.same(await ask('"t"', 'gzip'), [200, '"t-gzip"'])
  test.same(await ask('"t-gzip"', ''), [200, '"t"'])
  test.same(await ask('"t", "t-gzip"', 'br'), [200, '"t-br"'])
  test.same(await ask('"t"', 'identity'), [304, '"t"'])
})

t.test('incompressible bytes are sent as they are, under their plain tag', async (test) => {
  const wanted = { ...NOTHING, acceptEncoding: 'gzip' }
  for (const ready of [
    { body: 'short', etag: '"t"' },
    { body: Buffer.from(text), etag: '"t"', contentType: 'image/png' },
  ]) {
    const answer = await negotiate(ready, wanted)
    test.match(answer, { body: ready.body, headers: { ETag: '"t"', 'Content-Encoding': undefined } })
  }
})

t.test('bytes that will be overwritten are compressed from a copy', async (test) => {
  for (const size of [2_000, text.length]) {
    const body = Buffer.from(text.slice(0, size))
    const ready = { body, isTransient: true } as const
    test.match(await negotiate(ready, NOTHING), { isTransient: true })
    const form = negotiate(ready, { ...NOTHING, acceptEncoding: 'gzip' })
    body.fill(0)
    const answer = await form
    test.equal(gunzipSync(answer.body).toString(), text.slice(0, size))
    test.notOk(answer.isTransient)
  }
})

t.test('bytes that can be held have forms that are made once', async (test) => {
  const ready = { body: Buffer.from(text), isTransient: true, hold: () => () => undefined } as const
  const gzip = { ...NOTHING, acceptEncoding: 'gzip' }
  const form = negotiate(ready, gzip)
  test.equal(negotiate(ready, gzip), form)
  test.match(await form, { isTransient: undefined, hold: undefined })
  test.match(await negotiate(ready, NOTHING), { isTransient: true, hold: ready.hold })
})

t.test('slices are sent as they are, and not at all to a client that has them', async (test) => {
  const ready = { body: '', etag: '"t"', slices: () => [][Symbol.iterator]() as never }
  const answer = await negotiate(ready, { ...NOTHING, acceptEncoding: 'gzip' })
  test.match(answer, { status: 200, slices: ready.slices, headers: { ETag: '"t"', 'Content-Encoding': undefined } })
  test.match(await negotiate(ready, { ...NOTHING, ifNoneMatch: '"t"' }), { status: 304, slices: undefined })
})

t.test('of many clients that have the bytes, one now and then gets them all the same', async (test) => {
  const ready = { body: 'x', etag: '"t"' }
  const answers = []
  for (let n = 0; n < 960; n += 1) answers.push(await negotiate(ready, { ...NOTHING, ifNoneMatch: '"t"' }))
  const full = answers.filter(({ status }) => status === 200)
  // One in 32 to 96.
  test.ok(full.length >= 9 && full.length <= 30, `${full.length}`)
  test.ok(full.every(({ body }) => body === 'x'))
})
