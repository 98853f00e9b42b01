import t from 'tap'
import { endpoints } from '../../../src/resources/index.ts'
import { decodeWho, encodeWho, WHO_LENGTH_MAX, WhoError } from '../../../src/peers/who.ts'
import { CALLER } from '../../fixtures/peers.ts'

const sent = (fields: unknown) => Buffer.from(JSON.stringify(fields)).toString('base64url')
const FIELDS = { ...CALLER, via: 'lb1' }

t.test('the caller arrives as sent, with the node that forwarded it', (test) => {
  test.same(decodeWho(encodeWho(CALLER, 'lb1'), 'lb1'), FIELDS)
  const limited = { ...CALLER, sessionId: 'token 7', email: 'jürgen@例え.example', endpoints: ['a', 'b'] }
  test.same(decodeWho(encodeWho(limited, 'lb1'), 'lb1'), { ...limited, via: 'lb1' })
  test.match(encodeWho(limited, 'lb1'), /^[\w-]+$/)
  test.end()
})

t.test('a token that is limited to every existing endpoint fits', (test) => {
  const ids = endpoints.map(({ name }) => name.padEnd(36, 'x'))
  const text = encodeWho({ ...CALLER, endpoints: ids }, 'lb1')
  test.same(decodeWho(text, 'lb1').endpoints, ids)
  test.ok(text.length < WHO_LENGTH_MAX * 0.75, `${text.length}`)
  test.end()
})

t.test('other data about a caller stay where they are', (test) => {
  const more = { ...CALLER, token: 'fulcrum_secret' }
  const text = encodeWho(more, 'lb1')
  test.notMatch(Buffer.from(text, 'base64url').toString(), /secret/)
  test.notOk('token' in decodeWho(sent({ ...FIELDS, token: 'x', later: { a: 1 } }), 'lb1'), 'of another version')
  test.end()
})

t.test('one hop: a forwarded request is not forwarded again', (test) => {
  const arrived = decodeWho(encodeWho(CALLER, 'lb1'), 'lb1')
  test.throws(() => encodeWho(arrived, 'lb2'), { name: 'WhoError', message: /not forwarded again/ })
  test.throws(() => decodeWho(sent(FIELDS), 'lb3'), { name: 'WhoError', message: /not forwarded again/ })
  test.end()
})

t.test('an incomplete, overlong or invalid text is refused', (test) => {
  for (const name of ['userId', 'email', 'sessionId', 'address', 'via']) {
    test.throws(() => decodeWho(sent({ ...FIELDS, [name]: undefined }), 'lb1'), WhoError, `no ${name}`)
    test.throws(() => decodeWho(sent({ ...FIELDS, [name]: '' }), 'lb1'), WhoError, `empty ${name}`)
    test.throws(() => decodeWho(sent({ ...FIELDS, [name]: 7 }), 'lb1'), WhoError, `${name} is a number`)
    test.throws(() => decodeWho(sent({ ...FIELDS, [name]: 'x'.repeat(1_000) }), 'lb1'), WhoError, `long ${name}`)
  }
  for (const limits of ['a', [1], Array.from({ length: 1_001 }, () => 'a')]) {
    test.throws(() => decodeWho(sent({ ...FIELDS, endpoints: limits }), 'lb1'), WhoError)
  }
  const broken = ['', 'not base64!', sent('text'), sent(null), sent([]), 'AAAA', `${sent(FIELDS)}, ${sent(FIELDS)}`]
  for (const text of broken) test.throws(() => decodeWho(text, 'lb1'), WhoError, text)
  test.throws(() => decodeWho('A'.repeat(WHO_LENGTH_MAX + 1), 'lb1'), WhoError)
  test.throws(() => encodeWho({ ...CALLER, userId: '' }, 'lb1'), WhoError)
  const many = Array.from({ length: 1_000 }, () => 'x'.repeat(128))
  test.throws(() => encodeWho({ ...CALLER, endpoints: many }, 'lb1'), WhoError)
  test.end()
})
