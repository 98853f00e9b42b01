import { Type } from 'typebox'
import t from 'tap'
import { endpoint } from '../../../src/api/endpoint.ts'
import { contradictions, inOneSpelling } from '../../../src/api/spellings.ts'
import { closed } from '../../../src/model/fields.ts'
import { refuses } from '../../fixtures/config.ts'

const spellings = { label: 'name', list: 'items' }

t.test('a field in another spelling becomes its own, and in both if their values agree', (test) => {
  test.same(inOneSpelling({ label: 'a', other: 1 }, spellings), { name: 'a', other: 1 })
  test.same(inOneSpelling({ label: 'a', name: 'a', list: ['x'] }, spellings), { name: 'a', items: ['x'] })
  const own = { name: 'a' }
  test.equal(inOneSpelling(own, spellings), own)
  test.same(contradictions({ list: ['x'], items: ['x'], label: 'a' }, spellings), [])
  test.match(contradictions({ list: ['x'], items: ['y'], label: 'a', name: 'b' }, spellings), [
    { field: 'label', message: /with name/ },
    { field: 'list', message: /with items/ },
  ])
  test.end()
})

t.test('contradictions are reported together with rule violations, and the handler sees one spelling', async (test) => {
  const seen: unknown[] = []
  const text = Type.Optional(Type.String({ description: 'Text.' }))
  const made = endpoint({
    name: 'a.b',
    method: 'PUT',
    path: '/a',
    effect: 'stage',
    staged: true,
    summary: 's',
    message: 'm',
    body: closed({ name: text, label: text }),
    spellings: { label: 'name' },
    rules: ({ name }) => (name === 'bad' ? [{ field: 'name', code: 'INVALID_NAME', message: 'is bad' }] : []),
    handle: (_, { body }) => void seen.push(body),
  })
  const send = (body: object) => made.handle({} as never, { body } as never, undefined as never)
  send({ label: 'a' })
  test.same(seen, [{ name: 'a' }])
  const error = await refuses(test, 'INVALID_BODY', () => send({ label: 'a', name: 'bad' }))
  test.match(error.details.errors, [{ field: 'label' }, { field: 'name', code: 'INVALID_NAME' }])
  test.same(seen.length, 1)
})
