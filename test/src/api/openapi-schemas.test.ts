import { type TSchema, Type } from 'typebox'
import t from 'tap'
import { endpoint } from '../../../src/api/endpoint.ts'
import { closed } from '../../../src/model/fields.ts'
import { endpoints } from '../../../src/resources/index.ts'
import { documentOf } from '../../fixtures/openapi-document.ts'
import type { Json } from '../../fixtures/read-document.ts'

const text = Type.String({ description: 'Text.' })
const read = (name: string, data: TSchema) =>
  endpoint({
    method: 'GET',
    effect: 'read',
    summary: 's',
    message: 'm',
    name,
    path: `/${name}`,
    data: Type.Unsafe<never>(data),
    handle: () => undefined as never,
  })
const write = (name: string, body: TSchema) =>
  endpoint({
    method: 'POST',
    effect: 'stage',
    summary: 's',
    message: 'm',
    name,
    path: `/${name}`,
    body,
    handle: () => undefined,
  })
const shapesOf = (...table: readonly ReturnType<typeof read>[]): Json => documentOf(table).json.components.schemas
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

/** Every schema below a node, the node included. */
function* schemasIn(node: Json): Generator<Json> {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) yield node
  for (const value of Object.values(node)) yield* schemasIn(value)
}

t.test('bodies and answers are named after their endpoints', async (test) => {
  const thing = Type.Object({ id: text, size: Type.Integer() })
  const shapes = shapesOf(
    read('things.list', Type.Array(thing)),
    read('things.get', thing),
    read('things.figures', Type.Object({ count: Type.Integer() })),
    write('things.create', closed({ size: Type.Integer() })),
    write('things.update', closed({ size: Type.Optional(Type.Integer()) })),
    write('things.move', closed({ to: text })),
  )
  const own = Object.keys(shapes).filter((name) => name.startsWith('Thing'))
  test.same(own, ['Thing', 'ThingChange', 'ThingFigures', 'ThingInput', 'ThingMoveInput'])
  test.match(shapes.Thing, { type: 'object', required: ['id', 'size'] })
})

t.test('a record in an object of one field has the name, and a list with fewer fields another one', async (test) => {
  const whole = Type.Object({ id: text, key: text })
  const shapes = shapesOf(
    read('lists.list', Type.Object({ lists: Type.Array(Type.Object({ id: text })) })),
    read('lists.get', Type.Object({ List: whole })),
  )
  test.match(shapes.List.properties, { key: { type: 'string' } })
  test.same(Object.keys(shapes.ListListed.properties), ['id'])
})

t.test('a shape with a title has that name; its variant in requests has another', async (test) => {
  const rule = (more: object) => Type.Object({ kind: text, ...more }, { title: 'Rule', description: 'One.' })
  const document = documentOf([
    write('a.create', closed({ rule: rule({ by: text }) })),
    read('a.get', Type.Object({ rules: Type.Array(rule({})), first: { ...rule({}), description: 'Two.' } })),
    read('b.get', Type.Object({ rule: rule({ at: text }) })),
  ])
  const { schemas } = document.json.components
  test.same(schemas.A.properties.rules.items, ref('Rule'))
  test.same(
    schemas.A.properties.first,
    { ...ref('Rule'), description: 'Two.' },
    'the description at the reference belongs to it',
  )
  test.same(schemas.AInput.properties.rule, ref('RuleInput'))
  test.same(schemas.Rule.title, undefined)
  test.same(document.inline(schemas.B.properties.rule).required, ['kind', 'at'])
  test.ok('BRule' in schemas, 'a third shape is named by its place as well')
})

t.test('shapes at several places are named after the first of them, others stay in place', async (test) => {
  const at = Type.Object({ host: text, port: Type.Integer() })
  const shapes = shapesOf(
    read('a.get', Type.Object({ target: at, once: Type.Object({ x: text }) })),
    read('b.get', Type.Object({ id: text, to: Type.Array(at) })),
  )
  test.same(shapes.A.properties.target, ref('ATarget'))
  test.same(shapes.B.properties.to.items, ref('ATarget'))
  test.match(shapes.A.properties.once, { properties: { x: { type: 'string' } } })
})

const bare = (shape: Json): string => JSON.stringify({ ...shape, description: undefined })

t.test('the document of this API', async (test) => {
  const { json } = documentOf(endpoints)
  const shapes: Readonly<Record<string, Json>> = json.components.schemas

  await test.test('has the names with which clients are written', async (inner) => {
    const wanted =
      'RealServer RealServerInput RealServerChange L7Frontend L7FrontendInput L7FrontendChange L7Backend L4Backend Rule RuleInput When Condition Action HealthCheckSetting Warning Change PendingChanges Applied Job Maintenance ErrorPage Certificate CipherList LocalUser Role Group OpenedSession L7BackendFigures L7RealServerFigures L4FrontendFigures Error FieldError Done CreatedId'
    inner.same(
      wanted.split(' ').filter((name) => !(name in shapes)),
      [],
    )
  })

  await test.test('names in words: none needed a number', async (inner) => {
    inner.same(
      Object.keys(shapes).filter((name) => !/^[A-Z][A-Za-z0-9]*[A-Za-z]$/.test(name)),
      [],
    )
  })

  await test.test('has no two equal shapes, and none that is never referred to', async (inner) => {
    inner.equal(new Set(Object.values(shapes).map(bare)).size, Object.keys(shapes).length)
    const used = new Set([...schemasIn(json)].map(({ $ref }) => $ref))
    inner.same(
      Object.keys(shapes).filter((name) => !used.has(ref(name).$ref)),
      [],
    )
  })

  await test.test('repeats no object that names its fields', async (inner) => {
    const met = new Map<string, number>()
    const roots = new Set(Object.values(shapes))
    for (const schema of schemasIn(json)) {
      if (schema.type !== 'object' || schema.properties === undefined || roots.has(schema)) continue
      const key = bare(schema)
      met.set(key, (met.get(key) ?? 0) + 1)
    }
    inner.same(
      [...met].filter(([, count]) => count > 1),
      [],
    )
  })
})
