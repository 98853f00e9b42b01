import t from 'tap'
import { Validation } from '../../src/http/validation.ts'
import { endpoints } from '../../src/resources/index.ts'

interface Schema {
  readonly type?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}
type Wrap = (value: unknown) => unknown

/** Yields each number that a schema accepts: its place, its schema, and a body with nothing else. */
function numbersIn(schema: Schema, path: readonly string[], wrap: Wrap): readonly [string, Schema, Wrap][] {
  const { type, anyOf = [], properties = {}, items } = schema
  return [
    ...(type === 'integer' || type === 'number' ? [[path.join('.'), schema, wrap] as [string, Schema, Wrap]] : []),
    ...anyOf.flatMap((branch) => numbersIn(branch, path, wrap)),
    ...Object.entries(properties).flatMap(([name, property]) =>
      numbersIn(property, [...path, name], (value) => wrap({ [name]: value })),
    ),
    ...(items === undefined ? [] : numbersIn(items, [...path, '0'], (value) => wrap([value]))),
  ]
}

t.test('a number beyond its range is reported as such, wherever it is sent', async (test) => {
  let tried = 0
  for (const { method, path, body, query } of endpoints) {
    for (const schema of [body, query]) {
      if (schema === undefined) continue
      const validation = new Validation(schema)
      for (const [field, { minimum, maximum }, wrap] of numbersIn(schema, [], (value) => value)) {
        const beyond = [minimum === undefined ? [] : minimum - 1, maximum === undefined ? [] : maximum + 1].flat()
        for (const value of beyond) {
          const found = validation.problems(wrap(value)).find((problem) => problem.field === field)
          // Some accept 0 for "none" beside a range that begins at 1.
          if (found === undefined && value === 0) continue
          tried++
          if (found?.code !== 'OUT_OF_RANGE') test.fail(`${method} ${path}: ${field} ${value} is ${found?.code}`)
        }
      }
    }
  }
  test.ok(tried > 200, `${tried} numbers`)
})
