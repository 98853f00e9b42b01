import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import t from 'tap'
import { withNulls, withoutNulls, withoutUnset } from '../../../src/api/null-fields.ts'
import { closed } from '../../../src/model/fields.ts'

const body = closed({
  name: Type.String({ description: 'Name.' }),
  list: Type.Optional(Type.Array(Type.String(), { description: 'List.' })),
  max: Type.Optional(Type.Union([Type.Integer(), Type.Null()], { description: 'Most.' })),
})
const whenNull = { list: [], max: null }

t.test('null is accepted in the fields that it clears, and in no other', async (test) => {
  const validator = Compile(withNulls(body, whenNull))
  const check = (value: unknown) => validator.Check(value)
  test.ok(check({ name: 'a', list: null, max: null }))
  test.ok(check({ name: 'a', list: ['x'] }))
  test.notOk(check({ name: null }))
  test.notOk(check({ list: null }), 'the name is required')
  test.notOk(check({ name: 'a', other: null }))
})

t.test('null is replaced by its meaning, each time a new value', async (test) => {
  const sent = { name: 'a', list: null }
  const one = withoutNulls(sent, whenNull)
  test.same(one, { name: 'a', list: [] })
  test.not(one['list'], withoutNulls(sent, whenNull)['list'], 'it is not shared')
  const plain = { name: null, toString: null }
  test.equal(withoutNulls(plain, whenNull), plain)
})

t.test('null in an unset field is left out where no schema accepts it', async (test) => {
  const real = closed({
    ripId: Type.String(),
    port: Type.Optional(Type.Integer()),
    max: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    state: Type.Optional(Type.Enum(['a', 'b'])),
    any: Type.Optional(Type.Unknown()),
  })
  const action = Type.Union([
    closed({ type: Type.Literal('deny'), status: Type.Optional(Type.Integer()) }),
    closed({ type: Type.Literal('set'), value: Type.Optional(Type.Union([Type.String(), Type.Null()])) }),
    closed({ type: Type.Literal('add'), value: Type.Optional(Type.String()), name: Type.String() }),
  ])
  const schema = closed({
    name: Type.String(),
    weight: Type.Optional(Type.Integer()),
    reals: Type.Optional(Type.Array(real)),
    check: Type.Optional(Type.Union([closed({ path: Type.Optional(Type.String()) }), Type.Null()])),
    actions: Type.Optional(Type.Array(action)),
    map: Type.Optional(Type.Record(Type.String(), Type.String())),
  })
  const sent = {
    name: null,
    weight: null,
    other: null,
    reals: [{ ripId: null, port: null, max: null, state: null, any: null, other: null }, null, 'x'],
    check: { path: null },
    actions: [
      { type: 'deny', status: null },
      { type: 'add', name: null, value: null },
    ],
    map: { a: null },
  }
  const left = {
    name: null,
    other: null,
    reals: [{ ripId: null, max: null, any: null, other: null }, null, 'x'],
    check: {},
    actions: [{ type: 'deny' }, { type: 'add', name: null, value: null }],
    map: { a: null },
  }
  test.same(withoutUnset(schema, sent, false), left)
  test.same(withoutUnset(schema, sent, true), { ...left, weight: null }, 'in an existing record null clears')
  test.same(withoutUnset(schema, { check: null }, false), { check: null })
})
