import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { compress, COMPRESS_AT_ONCE_BYTES, COMPRESS_MIN_BYTES, isCompressible } from '../../../src/http/compression.ts'

const body = (bytes: number) => Buffer.from('0,1,null,'.repeat(bytes)).subarray(0, bytes)

t.test('text of some size is worth it', async (test) => {
  for (const type of ['application/json', 'text/csv; charset=utf-8', 'text/html', 'image/svg+xml']) {
    test.ok(isCompressible(type, COMPRESS_MIN_BYTES), type)
    test.notOk(isCompressible(type, COMPRESS_MIN_BYTES - 1), type)
  }
  for (const type of ['image/png', 'application/octet-stream']) test.notOk(isCompressible(type, 1e6), type)
})

t.test('small ones at once, large ones off the loop, and back to the same bytes', async (test) => {
  for (const [encoding, unpack] of [
    ['gzip', gunzipSync],
    ['br', brotliDecompressSync],
  ] as const) {
    const small = compress(encoding, body(COMPRESS_AT_ONCE_BYTES), {})
    if (!(small instanceof Uint8Array)) throw new Error('not at once')
    test.ok(unpack(small).equals(body(COMPRESS_AT_ONCE_BYTES)))
    const large = compress(encoding, body(COMPRESS_AT_ONCE_BYTES + 1), {})
    test.ok(large instanceof Promise)
    test.ok(unpack((await large) ?? '').equals(body(COMPRESS_AT_ONCE_BYTES + 1)))
  }
})

t.test('bytes that can be held are held until they are compressed, instead of copied', async (test) => {
  let held = 0
  const hold = () => {
    held += 1
    return () => void (held -= 1)
  }
  const large = compress('gzip', body(100_000), { isTransient: true, hold })
  test.equal(held, 1)
  test.ok(gunzipSync((await large) ?? '').equals(body(100_000)))
  test.equal(held, 0)
  void compress('gzip', body(1_000), { isTransient: true, hold })
  test.equal(held, 0, 'compressed at once')
})

t.test('compression elsewhere holds the bytes until then', async (test) => {
  let held = 0
  const hold = () => {
    held += 1
    return () => void (held -= 1)
  }
  const asked: unknown[] = []
  const pack = async (packing: string, bytes: Uint8Array) => {
    asked.push([packing, bytes.length, held])
    return Buffer.from('packed')
  }
  test.same(await compress('br', body(100_000), { hold, pack }), Buffer.from('packed'))
  test.same([asked, held], [[['br', 100_000, 1]], 0])
  test.ok(compress('gzip', body(1_000), { hold, pack }) instanceof Uint8Array, 'a small one is not worth it')
  const refuse = () => Promise.reject(new Error('ended'))
  await test.rejects(async () => compress('gzip', body(100_000), { hold, pack: refuse }), { message: 'ended' })
  test.equal(held, 0)
})

t.test('a long queue refuses, and later everything works as before', async (test) => {
  const all = Array.from({ length: 60 }, () => compress('gzip', body(100_000), { isTransient: true }))
  const accepted = all.filter((one) => one !== undefined)
  test.ok(accepted.length < all.length, 'some were refused')
  for (const one of accepted) test.ok(gunzipSync(await one).equals(body(100_000)))
  const later = compress('br', body(100_000), {})
  test.ok(brotliDecompressSync((await later) ?? '').equals(body(100_000)))
})
