import { Type } from 'typebox'
import t from 'tap'
import { endpoint, NoData } from '../../../src/api/endpoint.ts'
import { Reply } from '../../../src/api/reply.ts'
import { returningWhatIsMade } from '../../../src/api/return-record.ts'
import { closed } from '../../../src/model/fields.ts'
import { refusalOf } from '../../fixtures/config.ts'

const text = Type.String({ description: 'Text.' })
const Thing = Type.Object({ id: text, name: text })
const Secret = Type.Object({ id: text, name: text, key: text })
const common = { summary: 's', message: 'm' } as const

/** A creation beside its reads, and the order of their calls. */
function fixture({ made, reveals = false }: { readonly made: unknown; readonly reveals?: boolean }) {
  const done: string[] = []
  const one = { ...common, name: 'things.get', method: 'GET', path: '/things/{id}', effect: 'read' } as const
  const read = {
    data: Secret,
    handle: (_: unknown, { params }: { params: { id: string } }) => ({ ...params, name: 'x', key: 'k' }),
  }
  const table = returningWhatIsMade([
    endpoint({
      ...common,
      name: 'things.list',
      method: 'GET',
      path: '/things',
      effect: 'read',
      data: Type.Array(Thing),
      handle: () => [
        { id: 'b', name: 'y' },
        { id: 'a', name: 'x' },
      ],
    }),
    reveals ? endpoint({ ...one, ...read, reveals }) : endpoint({ ...one, ...read }),
    endpoint({
      ...common,
      name: 'things.create',
      method: 'POST',
      path: '/things',
      effect: 'stage',
      status: 201,
      body: closed({ name: text }),
      data: Type.Object({ id: text }),
      prepare: async () => void done.push('prepared'),
      handle: () => {
        done.push('made')
        return made as never
      },
    }),
  ])
  const create = table.at(-1)
  const send = async (query: object, granted: readonly string[] = ['things.get', 'things.list']) => {
    const ctx = { may: (name: string) => granted.includes(name) }
    const request = { params: {}, query, body: { name: 'x' }, accept: '', headers: {} }
    await create?.prepare?.(ctx as never, request as never)
    return create?.handle(ctx as never, request as never, undefined as never)
  }
  return { send, done, create }
}

t.test('the record is answered as it is read, with the fields of the creation beside', async (test) => {
  const { send, create } = fixture({ made: Reply.with({ id: 'a' }, { message: 'stored; but' }) })
  test.match(await send({ return: 'record' }), { data: { id: 'a', name: 'x', key: 'k' }, message: 'stored; but' })
  test.match(await send({}), { data: { id: 'a' }, message: 'stored; but' })
  test.same(create?.data, Type.Object({ id: text, name: Type.Optional(text), key: Type.Optional(text) }))
})

t.test('a secret is not revealed on the way: the list has the record', async (test) => {
  const { send, create } = fixture({ made: { id: 'a' }, reveals: true })
  const { data } = Object(await send({ return: 'record' }))
  test.same(data, { id: 'a', name: 'x' })
  test.same(Object.keys(Reflect.get(create?.data ?? {}, 'properties')), ['id', 'name'])
})

t.test('data may lack the id', async (test) => {
  const { send } = fixture({ made: Reply.with(undefined, { created: 'a' }) })
  test.match(await send({ return: 'record' }), { data: { id: 'a', name: 'x' } })
})

t.test('PERMISSION_DENIED: without the right to read it, nothing is created', async (test) => {
  const { send, done } = fixture({ made: { id: 'a' } })
  test.match(await refusalOf(send({ return: 'record' }, ['things.list'])), { code: 'PERMISSION_DENIED' })
  test.same(done, [])
  await send({}, [])
  test.same(done, ['prepared', 'made'])
})

t.test('an endpoint that creates no readable record stays as it is', async (test) => {
  const common_201 = { ...common, method: 'POST', status: 201, data: NoData, handle: () => [] } as const
  const acts = endpoint({ ...common_201, name: 'a.create', path: '/a', effect: 'act' })
  const alone = endpoint({ ...common_201, name: 'b.create', path: '/b', effect: 'stage' })
  test.strictSame(returningWhatIsMade([acts, alone]), [acts, alone])
  test.equal(alone.query, undefined)
})
