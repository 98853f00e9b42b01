import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import t from 'tap'
import { withNulls, withoutNulls } from '../../../src/api/null-fields.ts'
import { closed } from '../../../src/model/fields.ts'

const body = closed({
  name: Type.String({ description: 'Name.' }),
  list: Type.Optional(Type.Array(Type.String(), { description: 'List.' })),
  max: Type.Optional(Type.Union([Type.Integer(), Type.Null()], { description: 'Most.' })),
})
const whenNull = { list: [], max: null }

t.test('null is taken in the fields that it clears, and in no other', async (test) => {
  const validator = Compile(withNulls(body, whenNull))
  const check = (value: unknown) => validator.Check(value)
  test.ok(check({ name: 'a', list: null, max: null }))
  test.ok(check({ name: 'a', list: ['x'] }))
  test.notOk(check({ name: null }))
  test.notOk(check({ list: null }), 'the name is required')
  test.notOk(check({ name: 'a', other: null }))
})

t.test('what null stands for takes its place, each time anew', async (test) => {
  const sent = { name: 'a', list: null }
  const one = withoutNulls(sent, whenNull)
  test.same(one, { name: 'a', list: [] })
  test.not(one['list'], withoutNulls(sent, whenNull)['list'], 'nobody shares it')
  const plain = { name: null, toString: null }
  test.equal(withoutNulls(plain, whenNull), plain)
})
