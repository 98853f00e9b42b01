import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import t from 'tap'
import { closed, Id, Ip, Name, optional, Port, Seconds, Weight } from '../../../src/model/fields.ts'

/** Returns the `values` that a schema accepts. */
function taken(schema: TSchema, values: readonly unknown[]): readonly unknown[] {
  const validator = Compile(schema)
  return values.filter((value) => validator.Check(value))
}

t.test('ids are letters, digits and dashes', async (test) => {
  const good = ['a', 'A-1', '-', 'x'.repeat(64), '0190b2c8-7a1c-7def-8123-0123456789ab']
  test.same(taken(Id, good), good)
  test.same(taken(Id, ['', 'x'.repeat(65), 'a b', 'a_b', 'a/b', 'a.b', 'ä', 'a\n', 1, null]), [])
})

t.test('names hold visible characters and no control characters', async (test) => {
  const good = ['a', ' padded ', 'Zürich — 東京 🚀', 'x'.repeat(128), 'a"b\'c<d>']
  test.same(taken(Name, good), good)
  test.same(taken(Name, ['', ' ', '\u00a0\u2003', '\t', 'a\tb', 'a\nb', 'a\u0000', 'a\u007f', 'x'.repeat(129), 7]), [])
})

t.test('addresses are complete, of both families, without zone or prefix', async (test) => {
  const good = ['0.0.0.0', '192.0.2.1', '::', '2001:db8::1', '::ffff:192.0.2.1', '2001:DB8:0:0:0:0:0:1']
  test.same(taken(Ip, good), good)
  const bad = [
    '',
    '192.0.2',
    '192.0.2.256',
    '010.0.0.1',
    '1.2.3.4 ',
    '1.2.3.4/24',
    'fe80::1%eth0',
    '[::1]',
    '::g',
    'host',
  ]
  test.same(taken(Ip, bad), [])
})

t.test('numbers are whole and within their range', async (test) => {
  test.same(taken(Port, [0, 1, 65_535, 65_536, 1.5, '80', null]), [1, 65_535])
  test.same(taken(Weight, [-1, 0, 256, 257, 0.5, '1']), [0, 256])
  test.same(taken(Seconds('Wait.'), [0, 1, 86_400, 86_401, 1.5]), [1, 86_400])
  const short = Seconds('Wait.', 60)
  test.same(taken(short, [60, 61]), [60])
  test.equal(Reflect.get(short, 'description'), 'Wait. Seconds, 1 to 60.')
})

t.test('a closed object refuses unknown fields', async (test) => {
  const schema = closed({ a: Port }, 'Thing.')
  test.same(taken(schema, [{ a: 1 }, {}, { a: 1, b: 2 }, { a: 0 }, []]), [{ a: 1 }])
  test.equal(Reflect.get(schema, 'description'), 'Thing.')
  test.notOk('description' in closed({}))
})

t.test('optional fields may be left out, and are checked when they are present', async (test) => {
  const properties = { a: Port, b: Type.Union([Port, Type.Null()]) }
  const schema = closed(optional(properties))
  const good = [{}, { a: 1 }, { b: null }, { a: 1, b: 2 }]
  test.same(taken(schema, good), good)
  test.same(taken(schema, [{ a: null }, { a: 0 }, { c: 1 }]), [])
  test.same(taken(closed(properties), [{}, { a: 1 }, { a: 1, b: null }]), [{ a: 1, b: null }], 'the original is kept')
})
