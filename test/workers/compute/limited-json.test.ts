import t from 'tap'
import { DEPTH_MAX, parseLimited, parseUnambiguous, VALUES_MAX } from '../../../workers/compute/limited-json.ts'

const parse = (text: string) => parseLimited(Buffer.from(text))

t.test('UTF-8 JSON is parsed, anything else is not', async (test) => {
  test.same(parse('{"a":[1,"]]]]\\"[[["]}'), { value: { a: [1, ']]]]"[[['] } })
  test.equal(parse('{"a":'), undefined)
  test.equal(parse(''), undefined)
  test.equal(parseLimited(new Uint8Array([0x22, 0xff, 0x22])), undefined)
})

t.test('nesting is limited, in text it does not count', async (test) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  test.not(parse(nested(DEPTH_MAX)), undefined)
  test.equal(parse(nested(DEPTH_MAX + 1)), undefined)
  test.equal(parse(nested(1_000_000)), undefined)
  test.equal(parse('{"a":'.repeat(1_000_000)), undefined)
  test.not(parse(JSON.stringify('['.repeat(1000))), undefined)
})

t.test('so is the number of values', async (test) => {
  const list = (values: number) => `[${'0,'.repeat(values - 1)}0]`
  test.not(parse(list(VALUES_MAX)), undefined)
  test.equal(parse(list(VALUES_MAX + 1)), undefined)
  test.equal(parse(`[${'{},'.repeat(VALUES_MAX / 2 + 1)}0]`), undefined)
})

t.test('a name that occurs twice in an object', async (test) => {
  const unambiguous = (text: string) => parseUnambiguous(Buffer.from(text))
  const once = '{"a":1,"b":{"a":[{"a":":"},{"a":"\\":"}]},"7":{},"__proto__":{"constructor":2}}'
  test.same(Object.keys(Object(unambiguous(once)?.value)), ['7', 'a', 'b', '__proto__'])
  for (const text of ['{"a":1,"a":1}', '[{"b":{"a":1,"\\u0061":2}}]', '{"__proto__":1,"__proto__":2}']) {
    test.not(parse(text), undefined)
    test.equal(unambiguous(text), undefined, text)
  }
  for (const text of ['', '{', '['.repeat(1000)]) test.equal(unambiguous(text), undefined)
  test.same(unambiguous('3'), { value: 3 })
})
