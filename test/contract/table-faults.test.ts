import { type TObject, type TSchema, Type } from 'typebox'
import t from 'tap'
import { type Endpoint, endpoint } from '../../src/api/endpoint.ts'
import { closed } from '../../src/model/fields.ts'
import { tableFaults } from '../fixtures/table-faults.ts'

const described = Type.String({ description: 'Text.' })

interface Parts {
  readonly name?: string
  readonly method?: Endpoint['method']
  readonly path?: string
  readonly effect?: Endpoint['effect']
  readonly message?: string
  readonly query?: TObject
  readonly body?: TSchema
  readonly data?: TSchema
}

function made(parts: Parts): Endpoint {
  const { name = 'a.b', method = 'PUT', path = '/a/{id}', effect = 'stage', message = 'm' } = parts
  const plain = endpoint({ name, method, path, effect, staged: false, summary: 's', message, handle: () => undefined })
  return { ...plain, query: parts.query, body: parts.body, data: parts.data }
}
const faultsOf = (...parts: readonly Parts[]) => tableFaults(parts.map(made))

t.test('a sound table has no faults', async (test) => {
  const data = Type.Object({ count: Type.Integer({ description: 'Number.' }) })
  const sound = {
    message: 'Record {id} of {count}',
    body: closed({ a: described }),
    query: closed({ q: described }),
    data,
  }
  test.same(faultsOf(sound, { name: 'a.c', method: 'DELETE' }, { name: 'a.d', path: '/a' }), [])
})

t.test('a GET that could change something', async (test) => {
  test.same(faultsOf({ method: 'GET', path: '/a', effect: 'act' }), ['GET /a: a GET must only read'])
  test.same(faultsOf({ method: 'GET', path: '/a', effect: 'read' }), [])
  test.same(faultsOf({ method: 'POST', path: '/a', effect: 'read' }), [], 'a check may be a POST')
})

t.test('a message with a placeholder that nothing fills', async (test) => {
  const [fault, ...more] = faultsOf({ message: 'Record {key} stored' })
  test.equal(fault, 'PUT /a/{id}: the message names {key}, which is neither parameter nor data')
  test.same(more, [])
})

t.test('two endpoints that only differ in the names of parameters, or share a name', async (test) => {
  test.same(faultsOf({ name: 'a.b' }, { name: 'a.c', path: '/a/{key}' }), ['PUT /a/{} is declared twice'])
  test.same(faultsOf({ name: 'a.b' }, { name: 'a.b', path: '/c' }), ['name a.b is declared twice'])
  test.same(faultsOf({ name: 'a.b' }, { name: 'a.c', method: 'DELETE' }), [])
})

t.test('properties without a description, however deep, in every part', async (test) => {
  const bare = Type.String()
  const deep = closed({ list: Type.Array(closed({ inner: bare }), { description: 'Things.' }), plain: bare })
  test.same(faultsOf({ body: deep }), [
    'PUT /a/{id}: body.list[].inner has no description',
    'PUT /a/{id}: body.plain has no description',
  ])
  test.same(faultsOf({ query: closed({ q: bare }) }), ['PUT /a/{id}: query.q has no description'])
  test.same(faultsOf({ data: Type.Array(Type.Object({ id: bare })) }), ['PUT /a/{id}: data[].id has no description'])
})
