import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const PATH = '/layer7proxy/backends'
const LEAST = { name: 'be', mode: 'http' }

async function fixture() {
  const { call } = await borrow()
  const created = async (body: object) => String((await call('POST', PATH, { body })).json.data.id)
  const read = async (id: string) => (await call('GET', `${PATH}/${id}`)).json.data
  const change = (id: string, body: object) => call('PUT', `${PATH}/${id}`, { body })
  return { call, created, read, change }
}

t.test('two fields make a backend; the others have defaults', async (test) => {
  const { created, read } = await fixture()
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
    rules: [],
    maintenance: { enabled: false },
    errorPages: [],
    httpReuse: 'safe',
    timeouts: {},
  })
})

t.test('a change keeps omitted fields, and replaces a health check as a whole', async (test) => {
  const { created, read, change } = await fixture()
  const id = await created({ ...LEAST, healthCheck: { type: 'http', path: '/up', interval: 9 } })
  test.equal((await change(id, { timeoutServer: 60 })).status, 200)
  test.match(await read(id), { timeoutServer: 60, healthCheck: { type: 'http', path: '/up', interval: 9 } })
  test.equal((await change(id, { healthCheck: { type: 'http', path: '/ok' } })).status, 200)
  test.same((await read(id)).healthCheck, { type: 'http', path: '/ok' })
})

t.test('a running record, sent back as read, is no change', async (test) => {
  const { call } = await borrow()
  const { id } = (await call('POST', PATH, { body: { name: 'pool', mode: 'http' } })).json.data
  test.equal((await call('PUT', '/services/apply')).status, 200)
  await call('PUT', `${PATH}/${id}`, { body: (await call('GET', `${PATH}/${id}`)).json.data })
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
})

t.test('null is ignored in a list of real servers, and in a creation', async (test) => {
  const { call, created, read, change } = await fixture()
  const { id: ripId } = (await call('POST', '/ipvsDirector/rips', { body: { name: 'w', ip: '192.0.2.1', port: 80 } }))
    .json.data
  const id = await created({ ...LEAST, reals: null, healthCheck: { type: 'tcp', interval: null } })
  test.match(await read(id), { reals: [], healthCheck: { type: 'tcp' } })
  const changed = await change(id, { reals: [{ ripId, port: null, weight: null, sni: null, maxConn: null }] })
  test.equal(changed.status, 200, changed.text)
  test.match((await read(id)).reals, [{ ripId }])
  test.match((await change(id, { reals: [{ ripId: null, sni: null }] })).json, {
    errors: [{ field: 'reals.0.ripId' }],
  })
})

t.test('a check by a script names one for layer 7, and has the required values', async (test) => {
  const { call, created, read, change } = await fixture()
  const healthCheck = { type: 'script', id: 'dns', parameters: { name: 'example.org' } }
  const id = await created({ ...LEAST, healthCheck })
  test.same((await read(id)).healthCheck, healthCheck)
  const refusals = [
    [{ type: 'script' }, ['healthCheck.id']],
    [{ type: 'script', id: 'gone' }, ['healthCheck.id']],
    [{ type: 'script', id: 'dns', parameters: { x: '' } }, ['healthCheck.parameters.x', 'healthCheck.parameters.name']],
    [{ type: 'http', id: 'dns', parameters: { name: 'a' } }, ['healthCheck.id', 'healthCheck.parameters']],
    [{ type: 'http', expect: '399-200' }, ['healthCheck.expect']],
  ] as const
  for (const [wrong, fields] of refusals) {
    const answers = [
      await call('POST', PATH, { body: { ...LEAST, name: 'new', healthCheck: wrong } }),
      await change(id, { timeoutServer: 9, healthCheck: wrong }),
    ]
    for (const { status, json } of answers) {
      test.equal(status, 422)
      test.same(
        json.errors.map((error: { field: string }) => error.field),
        fields,
      )
    }
  }
  test.match(await read(id), { timeoutServer: 30, healthCheck })
  test.equal((await change(id, { healthCheck: { type: 'tcp', parameters: {} } })).status, 200)
})

t.test('a cookie, or a URI, in mode tcp is refused when sent, whichever is set last', async (test) => {
  const { call, created, read, change } = await fixture()
  const of = (json: { errors?: readonly { field: string }[] }) => json.errors?.map(({ field }) => field)
  const [cookie, uri] = [{ persistence: { type: 'cookie' } }, { balance: 'uri' }]
  const wrong = { name: 'new', mode: 'tcp', ...cookie, ...uri }
  const made = await call('POST', PATH, { body: wrong })
  test.equal(made.json.code, 'INVALID_BODY')
  test.same(of(made.json), ['persistence.type', 'balance'])
  test.match(made.json.errors[0].message, /needs mode http/)
  const http = await created({ ...LEAST, ...cookie, ...uri })
  test.same(of((await change(http, { mode: 'tcp' })).json), ['persistence.type', 'balance'])
  test.equal((await change(http, { mode: 'tcp', persistence: null, balance: 'source' })).status, 200)
  test.same(of((await change(http, cookie)).json), ['persistence.type'])
  test.same(of((await change(http, { ...uri, healthCheck: { type: 'script' } })).json), ['healthCheck.id', 'balance'])
  test.match(await read(http), { mode: 'tcp', balance: 'source', persistence: { type: 'none' } })
})
