import t from 'tap'
import { Type } from 'typebox'
import { largeBodies, mayBeLarge, readBody } from '../../../src/http/body.ts'
import { Validation } from '../../../src/http/validation.ts'
import { closed } from '../../../src/model/fields.ts'
import { parseLimited } from '../../../workers/compute/limited-json.ts'
import { refuses } from '../../fixtures/config.ts'

const validation = new Validation(closed({ text: Type.String() }))

function fixture(bodyBytes_max?: number, access = 'granted') {
  let isLarge = 0
  const read = (text: string, contentType = 'application/json', isAmbiguous = false, encoding = '') => {
    const bytes = Buffer.from(text)
    const incoming = {
      isAmbiguous,
      header: (name: string) => ({ 'content-type': contentType, 'content-encoding': encoding })[name] ?? '',
      readBody: async (bytes_max: number) => (bytes.length > bytes_max ? undefined : bytes),
    }
    const parse = async (raw: Uint8Array) => {
      isLarge++
      return parseLimited(raw)
    }
    return readBody({ access, bodyBytes_max } as never, incoming as never, validation, parse)
  }
  return { read, large: () => isLarge }
}

t.test('a body has its limit; a large one is parsed elsewhere', async (test) => {
  const text = JSON.stringify({ text: 'x'.repeat(2_000_000) })
  await refuses(test, 'PAYLOAD_TOO_LARGE', fixture().read(text))
  const { read, large } = fixture(4_000_000)
  test.same(await read(text), JSON.parse(text))
  test.same(await read('{"text":"small"}'), { text: 'small' })
  test.equal(large(), 1)
  await refuses(test, 'MALFORMED_REQUEST', read(`[${'['.repeat(1_100_000)}`))
  await refuses(
    test,
    'PAYLOAD_TOO_LARGE',
    fixture(undefined, 'public').read(JSON.stringify({ text: 'x'.repeat(9000) })),
  )
})

t.test('framing, content type and shape are checked', async (test) => {
  const { read } = fixture()
  await refuses(test, 'MALFORMED_REQUEST', read('{}', 'application/json', true))
  await refuses(test, 'UNSUPPORTED_MEDIA_TYPE', read('{}', 'text/plain'))
  const packed = await refuses(test, 'UNSUPPORTED_MEDIA_TYPE', read('{}', 'application/json', false, 'gzip'))
  test.match(packed.message, /without Content-Encoding/)
  test.same(await read('{"text":"a"}', 'application/json', false, 'identity'), { text: 'a' })
  await refuses(test, 'MALFORMED_REQUEST', read('[]'))
  await refuses(test, 'MALFORMED_REQUEST', read('{'))
  await refuses(test, 'INVALID_BODY', read('{"text":1}'))
  await refuses(test, 'INVALID_BODY', read(''))
})

t.test('one user has one large body in progress, all have two, and that is checked before it is read', async (test) => {
  const large = (bodyBytes_max: number | undefined, length: string) =>
    mayBeLarge({ bodyBytes_max } as never, { header: () => length } as never)
  test.ok(large(4_000_000, '2000000'))
  test.ok(large(4_000_000, ''), 'a chunked body may have any length')
  test.notOk(large(4_000_000, '1000'))
  test.notOk(large(undefined, '2000000'), 'refused by its length')
  const bodies = largeBodies()
  const free = bodies.take('a')
  const error = await refuses(test, 'TOO_MANY_AT_ONCE', () => bodies.take('a'))
  test.match(error.details.headers, { 'Retry-After': '5' })
  bodies.take('b')
  await refuses(test, 'TOO_MANY_AT_ONCE', () => bodies.take('c'))
  free()
  bodies.take('c')
})
