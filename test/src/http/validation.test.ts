import { Type } from 'typebox'
import t from 'tap'
import { ApiError, type FieldError } from '../../../src/base/errors.ts'
import { parseForm, parseQuery, parseSmall, validBody, Validation } from '../../../src/http/validation.ts'
import { closed, Ip, Port } from '../../../src/model/fields.ts'

const Body = closed({
  name: Type.String({ minLength: 1 }),
  ip: Ip,
  port: Type.Union([Port, Type.Null(), Type.Enum(['', 0])]),
  weight: Type.Optional(Type.Integer({ minimum: 0, maximum: 256 })),
  reals: Type.Optional(Type.Array(closed({ ripId: Type.String() }))),
  fallback: Type.Optional(Type.Union([closed({ ip: Ip }), Type.Null()])),
})
const validation = new Validation(Body)

function refusal(work: () => unknown): ApiError {
  try {
    work()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('nothing was refused')
}
const refused = (text: string) => refusal(() => validBody(parseSmall(Buffer.from(text)), validation))
const fields = (error: ApiError) =>
  Object.fromEntries((error.details.errors ?? []).map((entry: FieldError) => [entry.field, entry.code]))

t.test('an empty body names every required field', async (test) => {
  const error = refused('')
  test.equal(error.code, 'INVALID_BODY')
  test.same(fields(error), { name: 'REQUIRED', ip: 'REQUIRED', port: 'REQUIRED' })
})

t.test('every problem is reported at once, one entry per field', async (test) => {
  const error = refused(
    JSON.stringify({ name: '', ip: '1.2.3', port: 70_000, weight: -1, extra: 1, reals: [{ ripId: 3, more: 1 }] }),
  )
  test.same(fields(error), {
    extra: 'UNKNOWN',
    name: 'OUT_OF_RANGE',
    ip: 'FORMAT',
    port: 'OUT_OF_RANGE',
    weight: 'OUT_OF_RANGE',
    'reals.0.ripId': 'TYPE',
    'reals.0.more': 'UNKNOWN',
  })
})

t.test('a union names the requirements of each form, or the problem inside the value', async (test) => {
  const port = refused(JSON.stringify({ name: 'a', ip: '::1', port: 'x' })).details.errors?.[0]
  test.match(port, { field: 'port', code: 'TYPE', message: /integer.*or/ })
  const half = refused(JSON.stringify({ name: 'a', ip: '::1', port: 0.5 })).details.errors?.[0]
  test.match(half, { field: 'port', code: 'TYPE', message: 'must be integer, or must be one of "", 0' })
  const inside = refused(JSON.stringify({ name: 'a', ip: '::1', port: 1, fallback: { ip: 'nope' } }))
  test.same(fields(inside), { 'fallback.ip': 'FORMAT' })
})

t.test('rules are checked for valid fields and entries, wherever these are', async (test) => {
  const Listing = closed({ name: Type.String(), ports: Type.Array(Type.Integer()), more: Type.Array(Type.Integer()) })
  const rules = ({ name, ports, more }: { name?: string; ports?: number[]; more?: number[] }): FieldError[] => [
    ...(name?.startsWith('x') === true ? [{ field: 'name', code: 'RULE', message: '' }] : []),
    ...(ports ?? []).flatMap((port, at) => (port < 9 ? [{ field: `ports.${at}`, code: 'RULE', message: '' }] : [])),
    ...((ports ?? [80]).includes(80) ? [] : [{ field: 'ports', code: 'RULE', message: 'lacks 80' }]),
    ...(more === undefined ? [{ field: 'more', code: 'RULE', message: '' }] : []),
  ]
  const ruled = new Validation(Listing, { rules })
  const said = (body: object) => fields(refusal(() => validBody(parseSmall(Buffer.from(JSON.stringify(body))), ruled)))
  test.same(said({ name: 'x', ports: ['80', 1, 'y', 70, 2], more: [] }), {
    name: 'RULE',
    'ports.0': 'TYPE',
    'ports.1': 'RULE',
    'ports.2': 'TYPE',
    'ports.4': 'RULE',
  })
  test.same(said({ name: 1, ports: 80, more: [] }), { name: 'TYPE', ports: 'TYPE' })
  test.same(said({ name: 1, ports: [70], more: [] }), { name: 'TYPE', ports: 'RULE' })
  const unknown = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`u${index}`, 1]))
  test.notOk('more' in said({ ...unknown, name: 1, ports: [], more: [] }), 'none while not all problems are known')
})

t.test('a required field of several names is reported together with everything else', async (test) => {
  const Spelled = closed({
    a: Type.Integer(),
    name: Type.Optional(Type.String()),
    names: Type.Optional(Type.String()),
  })
  const rules = ({ a }: { a?: number }): FieldError[] => (a === 1 ? [{ field: 'a', code: 'RULE', message: '' }] : [])
  const needing = new Validation(Spelled, { rules, needsOneOf: [['name', 'names']] })
  const said = (body: string) => fields(refusal(() => validBody(parseSmall(Buffer.from(body)), needing)))
  test.same(said('{}'), { a: 'REQUIRED', name: 'REQUIRED' })
  test.same(said('{"a":1,"name":null}'), { a: 'RULE', name: 'REQUIRED' })
  test.same(said('{"a":2,"names":1}'), { names: 'TYPE' })
  test.same(validBody(parseSmall(Buffer.from('{"a":1,"names":""}')), needing), { a: 1, names: '' })
})

t.test('half a character is refused in any text, and is not repeated in the answer', async (test) => {
  const Texts = closed({ name: Type.String(), map: Type.Record(Type.String(), Type.Array(Type.String())) })
  const texts = new Validation(Texts)
  const said = (body: string) => refusal(() => validBody(parseSmall(Buffer.from(body)), texts))
  const error = said('{"name":"a\\ud800","map":{"x":["\\udc00","\\ud83d\\ude00"],"\\ud800":["y"]},"\\udfff":1}')
  test.equal(error.code, 'INVALID_BODY')
  test.same(fields(error), { name: 'FORMAT', 'map.x.0': 'FORMAT', 'map.\ufffd': 'FORMAT', '\ufffd': 'UNKNOWN' })
  test.ok(error.message.isWellFormed())
  const whole = '{"name":"\\ud83d\\ude00","map":{}}'
  test.same(validBody(parseSmall(Buffer.from(whole)), texts), { name: '😀', map: {} })
})

t.test('anything but a JSON object is malformed', async (test) => {
  for (const text of ['{', '[]', '"x"', 'null', '3', '{"a":1}x', '['.repeat(500_000)])
    test.equal(refused(text).code, 'MALFORMED_REQUEST')
  test.equal(
    refusal(() => validBody(parseSmall(new Uint8Array([0x7b, 0xff, 0x7d])), validation)).code,
    'MALFORMED_REQUEST',
  )
})

t.test('a prototype key is an unknown field and reaches no prototype', async (test) => {
  const error = refused('{"name":"a","ip":"::1","port":1,"__proto__":{"admin":true},"constructor":1}')
  test.same((error.details.errors ?? []).map((entry) => `${entry.field} ${entry.code}`).sort(), [
    '__proto__ UNKNOWN',
    'constructor UNKNOWN',
  ])
  test.equal(Reflect.get({}, 'admin'), undefined)
})

t.test('a query is converted to the types of its schema', async (test) => {
  const Query = closed({ start: Type.Integer({ minimum: 0 }), kind: Type.Optional(Type.String()) })
  const query = new Validation(Query)
  test.same(parseQuery('start=12&kind=a%20b', query), { start: 12, kind: 'a b' })
  test.same(parseQuery('_=17&start=12&_t&kind=a&_=18&%5Fx=1', query), { start: 12, kind: 'a' }, '_… is ignored')
  for (const [text, expected] of [
    ['start=1.5', { start: 'TYPE' }],
    ['start=0x10', { start: 'TYPE' }],
    ['start=1&start=2', { start: 'NOT_UNIQUE' }],
    ['start=-1', { start: 'OUT_OF_RANGE' }],
    ['kind=a', { start: 'REQUIRED' }],
    ['start=1&other=2', { other: 'UNKNOWN' }],
    ['start=9999999999999999999', { start: 'TYPE' }],
  ] as const) {
    const error = refusal(() => parseQuery(text, query))
    test.equal(error.code, 'INVALID_QUERY')
    test.same(fields(error), expected, text)
  }
})

t.test('a query without encoding is read like any other', async (test) => {
  const Query = closed({ start: Type.Optional(Type.Integer()), kind: Type.Optional(Type.String()) })
  const query = new Validation(Query)
  for (const text of [
    '',
    '&',
    'start=1',
    'start=1&&kind=a=b&',
    'kind=',
    'kind',
    '=',
    'start=-7&kind=x',
    '=1',
    'start',
  ]) {
    const read = (sent: string) => {
      try {
        return parseQuery(sent, query)
      } catch (error) {
        return (error as ApiError).details.errors
      }
    }
    test.same(read(text), read(new URLSearchParams(text).toString()), text)
  }
  test.same(parseQuery('', new Validation(undefined)), {})
})

t.test('many unknown fields hide nothing: every failure of the check is refused', async (test) => {
  for (const count of [1, 100, 199, 200, 201, 300, 5000]) {
    const extra = Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]))
    for (const body of [
      { name: 'a', ip: '::1', port: 1, ...extra },
      { ...extra, name: 3, ip: {}, port: [] },
      { name: 'a', ip: '::1', port: 1, reals: [{ ripId: 'x', ...extra }] },
    ]) {
      const error = refused(JSON.stringify(body))
      test.equal(error.code, 'INVALID_BODY', `${count} extra fields`)
      test.ok((error.details.errors?.length ?? 0) > 0)
    }
  }
})

t.test('a query with many unknown names is refused', async (test) => {
  const Query = closed({ start: Type.Integer({ minimum: 0 }) })
  const extra = Array.from({ length: 300 }, (_, i) => `k${i}=1`).join('&')
  const error = refusal(() => parseQuery(`start=abc&${extra}`, new Validation(Query)))
  test.equal(error.code, 'INVALID_QUERY')
})

t.test('a body that is nested too deeply for the check is malformed, not a defect', async (test) => {
  const deep = `{"name":"a","ip":"::1","port":1,"reals":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  test.match(refused(deep).code, /MALFORMED_REQUEST|INVALID_BODY/)
})

t.test('the fields of a form are texts; one that occurs twice, or is not UTF-8, makes it invalid', async (test) => {
  const parse = (text: string) => parseForm(Buffer.from(text))?.value
  test.same({ ...Object(parse('a=1&b=x+y%2B%C3%A9&c=')) }, { a: '1', b: 'x y+é', c: '' })
  test.same({ ...Object(parse('')) }, {})
  test.equal(Object.getPrototypeOf(parse('__proto__=x')), null)
  test.equal(parse('a=1&a=2'), undefined)
  test.equal(parse('a=%ff'), undefined)
})
