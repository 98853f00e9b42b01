import t, { type Test } from 'tap'
import { applianceFixture } from '../../appliance-fixture.ts'

const PATH = '/layer7proxy/backends'
const LEAST = { name: 'be', mode: 'http' }

async function fixture(test: Test) {
  const { call } = await applianceFixture(test)
  const created = async (body: object) => String((await call('POST', PATH, { body })).json.data.id)
  const read = async (id: string) => (await call('GET', `${PATH}/${id}`)).json.data
  const change = (id: string, body: object) => call('PUT', `${PATH}/${id}`, { body })
  return { call, created, read, change }
}

t.test('two fields make a backend; the others have defaults', async (test) => {
  const { created, read } = await fixture(test)
  const id = await created(LEAST)
  test.same(await read(id), {
    ...LEAST,
    id,
    balance: 'roundrobin',
    persistence: { type: 'none' },
    reals: [],
    healthCheck: { type: 'tcp' },
    fallback: null,
    timeoutConnect: 5,
    timeoutServer: 30,
    enabled: true,
  })
})

t.test('a change keeps what it leaves out, and replaces a health check as a whole', async (test) => {
  const { created, read, change } = await fixture(test)
  const id = await created({ ...LEAST, healthCheck: { type: 'http', path: '/up', interval: 9 } })
  test.equal((await change(id, { timeoutServer: 60 })).status, 200)
  test.match(await read(id), { timeoutServer: 60, healthCheck: { type: 'http', path: '/up', interval: 9 } })
  test.equal((await change(id, { healthCheck: { type: 'http', path: '/ok' } })).status, 200)
  test.same((await read(id)).healthCheck, { type: 'http', path: '/ok' })
})

t.test('checks by scripts are refused by field, and nothing of them is stored', async (test) => {
  const { call, created, read, change } = await fixture(test)
  const nothings = [{ id: null, parameters: null }, { id: '', parameters: [] }, { parameters: {} }, { parameters: '' }]
  for (const [index, nothing] of nothings.entries()) {
    const id = await created({ ...LEAST, name: `be${index}`, healthCheck: { type: 'http', path: '/', ...nothing } })
    test.same((await read(id)).healthCheck, { type: 'http', path: '/' })
    test.equal((await change(id, { healthCheck: { type: 'tcp', ...nothing } })).status, 200)
    test.same((await read(id)).healthCheck, { type: 'tcp' })
  }
  const id = await created(LEAST)
  const refusals = [
    [{ type: 'script' }, ['healthCheck.type']],
    [
      { type: 'script', id: 'x', parameters: { a: 1 } },
      ['healthCheck.type', 'healthCheck.id', 'healthCheck.parameters'],
    ],
    [{ type: 'http', id: 'x' }, ['healthCheck.id']],
    [{ type: 'none', parameters: '-v' }, ['healthCheck.parameters']],
  ] as const
  for (const [healthCheck, fields] of refusals) {
    const answers = [
      await call('POST', PATH, { body: { ...LEAST, name: 'new', healthCheck } }),
      await change(id, { timeoutServer: 9, healthCheck }),
    ]
    for (const { status, json } of answers) {
      test.equal(status, 422)
      test.match(json, { code: 'INVALID_BODY', errors: fields.map((field) => ({ field, code: 'NOT_SERVED_YET' })) })
      test.equal(json.errors.length, fields.length)
    }
  }
  test.match(await read(id), { timeoutServer: 30, healthCheck: { type: 'tcp' } })
  const unknown = await change(id, { healthCheck: { type: 'magic' } })
  test.match(unknown.json, { code: 'INVALID_BODY', errors: [{ field: 'healthCheck.type' }] })
  test.not(unknown.json.errors[0].code, 'NOT_SERVED_YET')
})
