import { Type } from 'typebox'
import t from 'tap'
import { endpoint, type Endpoint } from '../../../src/api/endpoint.ts'
import { takingWhatIsRead } from '../../../src/api/read-fields.ts'
import { Reply } from '../../../src/api/reply.ts'
import { closed } from '../../../src/model/fields.ts'
import { refusalOf } from '../../fixtures/config.ts'

const text = Type.String({ description: 'Text.' })
const common = { staged: true, summary: 's', message: 'm' } as const
const RECORD = { id: 'a', name: 'one', tags: ['x'] }
const Record = Type.Object({ id: text, name: text, tags: Type.Array(text, { description: 'Tags.' }) })

const get = (path: string, data: unknown, shape: 'record' | 'list' | 'wrapped' = 'record') =>
  endpoint({
    ...common,
    name: 'things.get',
    method: 'GET',
    path,
    effect: 'read',
    staged: false,
    data: shape === 'record' ? Record : shape === 'list' ? Type.Array(Record) : Type.Object({ thing: Record }),
    handle: () => data as never,
  })

function change(reading: Endpoint) {
  const seen: unknown[] = []
  const put = endpoint({
    ...common,
    name: 'things.update',
    method: 'PUT',
    path: '/things/{id}',
    effect: 'stage',
    body: closed({ name: Type.Optional(text) }),
    prepare: async (_, { body }) => void seen.push(body),
    handle: (_, { body }) => void seen.push(body),
  })
  const [, taking] = takingWhatIsRead([reading, put])
  const send = async (body: object, mayRead = true) => {
    const request = { params: { id: 'a' }, query: {}, body, accept: '', headers: {} }
    await taking?.prepare?.({} as never, request as never)
    await taking?.handle({ may: () => mayRead } as never, request as never, undefined as never)
  }
  return { seen, send, properties: Object.keys(Reflect.get(taking?.body ?? {}, 'properties')) }
}

for (const [title, reading] of [
  ['a record', get('/things/{id}', RECORD)],
  ['an array of one', get('/things/{id}', [RECORD], 'list')],
  ['a reply', get('/things/{id}', Reply.with(RECORD, {}))],
  ['an object in an object', get('/things/{id}', { thing: RECORD }, 'wrapped')],
  ['a list that it is in', get('/things', [{ ...RECORD, id: 'b', tags: [] }, RECORD], 'list')],
] as const) {
  t.test(`a record read as ${title} may be sent back, and the handler sees only its own fields`, async (test) => {
    const { seen, send, properties } = change(reading)
    test.same(properties, ['name', 'id', 'tags'])
    await send(RECORD)
    test.same(seen, [{ name: 'one' }, { name: 'one' }])
    const refusal = await refusalOf(send({ name: 'two', id: 'b', tags: ['x'] }))
    test.match(refusal, { code: 'READ_ONLY', details: { errors: [{ field: 'id', code: 'READ_ONLY' }] } })
    test.equal(refusal.details.errors?.length, 1)
    test.equal(seen.length, 3, 'a refused one is prepared and not handled')
  })
}

t.test('a caller without the right to read the record cannot find out its content', async (test) => {
  const { send } = change(get('/things/{id}', RECORD))
  test.match(await refusalOf(send({ tags: ['x'] }, false)), { code: 'READ_ONLY' })
})

t.test('a change without a common field with the read stays as it is', async (test) => {
  const other = endpoint({
    ...common,
    name: 'things.restore',
    method: 'PUT',
    path: '/things/{id}',
    effect: 'stage',
    body: closed({ reboot: Type.Optional(Type.Boolean({ description: 'Reboot.' })) }),
    handle: () => undefined,
  })
  test.equal(takingWhatIsRead([get('/things/{id}', RECORD), other])[1], other)
})

t.test('a change may name its read, and fields that change on their own are accepted as read', async (test) => {
  const reading = { ...get('/elsewhere', RECORD), moving: ['tags'] }
  const seen: unknown[] = []
  const put = endpoint({
    ...common,
    name: 'things.update',
    method: 'PUT',
    path: '/things',
    effect: 'stage',
    readBy: 'things.get',
    body: closed({ name: Type.Optional(text) }),
    handle: (_, { body }) => void seen.push(body),
  })
  const [, taking] = takingWhatIsRead([reading, put])
  const send = async (body: object) => {
    const request = { params: {}, query: {}, body, accept: '', headers: {} }
    await taking?.handle({ may: () => true } as never, request as never, undefined as never)
  }
  await send({ ...RECORD, tags: ['of a second ago'] })
  test.same(seen, [{ name: 'one' }])
  test.match(await refusalOf(send({ ...RECORD, id: 'b' })), { code: 'READ_ONLY' })
})
