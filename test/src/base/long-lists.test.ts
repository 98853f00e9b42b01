import t from 'tap'
import { Type } from 'typebox'
import { holdsLists, longListProblems } from '../../../src/base/long-lists.ts'
import { endpoints } from '../../../src/resources/index.ts'

const few = Type.Array(Type.String(), { maxItems: 300, uniqueItems: true })
const schema = Type.Object({
  few: Type.Optional(few),
  either: Type.Optional(Type.Union([Type.Null(), few])),
  inside: Type.Optional(Type.Array(Type.Object({ few }))),
  named: Type.Optional(Type.Record(Type.String(), Type.Object({ few }))),
})
const many = (count: number, item: (n: number) => unknown = (n) => `x${n}`) =>
  Array.from({ length: count }, (_, n) => item(n))

t.test('a list that is too long is found before its entries are compared', async (test) => {
  const equal = many(1_000_000, () => 'x')
  test.match(longListProblems(schema, { few: equal }), [{ field: 'few', code: 'OUT_OF_RANGE', message: /300/ }])
  test.match(longListProblems(schema, { either: equal }), [{ field: 'either', code: 'OUT_OF_RANGE' }])
  test.match(longListProblems(schema, { inside: [{ few: [] }, { few: equal }] }), [{ field: 'inside.1.few' }])
  test.match(longListProblems(schema, { named: { a: { few: [] }, toString: { few: equal } } }), [
    { field: 'named.toString.few', code: 'OUT_OF_RANGE' },
  ])
})

t.test('equal entries of a long list are found; short lists are left to others', async (test) => {
  test.match(longListProblems(schema, { few: [...many(250), 'x7'] }), [{ field: 'few', code: 'NOT_UNIQUE' }])
  test.match(longListProblems(schema, { few: many(250, () => ({ a: 1 })) }), [{ code: 'NOT_UNIQUE' }])
  test.same(longListProblems(schema, { few: many(300) }), [])
  test.same(longListProblems(schema, { few: many(100, () => 'x'), either: null, inside: 7 }), [])
})

t.test('a value without lists is not searched', async (test) => {
  const { few: _, ...others } = schema.properties
  for (const property of [few, ...Object.values(others)])
    test.ok(holdsLists(Type.Object({ inside: Type.Object({ property }) })), JSON.stringify(property))
  test.notOk(holdsLists(Type.Object({ name: Type.String(), inside: Type.Object({ either: Type.Null() }) })))
  const schemas = endpoints.flatMap(({ body, query }) => [body, query]).filter((each) => each !== undefined)
  const without = schemas.filter((each) => !holdsLists(each))
  test.ok(without.length > 100 && without.length < schemas.length)
  for (const each of without) test.notMatch(JSON.stringify(each), /"type":"array"|"patternProperties"/)
})
