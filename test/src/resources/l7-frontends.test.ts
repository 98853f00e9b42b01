import t, { type Test } from 'tap'
import { applianceFixture } from '../../appliance-fixture.ts'

const PATH = '/layer7proxy/frontends'
const LEAST = { name: 'www', mode: 'http', ip: '127.0.0.1', ports: '80' }

async function fixture(test: Test) {
  const { call } = await applianceFixture(test)
  const backend = async (name: string) =>
    String((await call('POST', '/layer7proxy/backends', { body: { name, mode: 'http' } })).json.data.id)
  const created = async (body: object) => String((await call('POST', PATH, { body })).json.data.id)
  const read = async (id: string) => (await call('GET', `${PATH}/${id}`)).json.data
  const change = (id: string, body: object) => call('PUT', `${PATH}/${id}`, { body })
  return { call, backend, created, read, change }
}

t.test('four fields make a frontend; the others have defaults', async (test) => {
  const { created, read } = await fixture(test)
  const id = await created(LEAST)
  test.same(await read(id), {
    ...LEAST,
    id,
    defaultBackendId: null,
    maxConn: null,
    timeoutClient: 30,
    forwardFor: true,
    enabled: true,
  })
})

t.test('what is sent wins over a default, and an id is no field', async (test) => {
  const { call, created, read, backend } = await fixture(test)
  const more = { maxConn: 7, timeoutClient: 1, forwardFor: false, enabled: false, defaultBackendId: await backend('b') }
  const id = await created({ ...LEAST, ...more })
  test.same(await read(id), { ...LEAST, ...more, id })
  const answer = await call('POST', PATH, { body: { ...LEAST, name: 'x', id: 'mine' } })
  test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'id', code: 'UNKNOWN' }] })
})

t.test('a change keeps what it leaves out; null takes the backend and the limit away', async (test) => {
  const { created, read, change, backend } = await fixture(test)
  const id = await created({ ...LEAST, maxConn: 7, timeoutClient: 5, defaultBackendId: await backend('b') })
  const before = await read(id)
  test.equal((await change(id, { ports: '80,443,8000-8010' })).status, 200)
  test.same(await read(id), { ...before, ports: '80,443,8000-8010' })
  test.equal((await change(id, { defaultBackendId: null, maxConn: null })).status, 200)
  test.same(await read(id), { ...before, ports: '80,443,8000-8010', defaultBackendId: null, maxConn: null })
  test.equal((await change(id, {})).status, 200)
})

t.test('a backend that does not exist is named, on creation and change', async (test) => {
  const { call, created, change, read } = await fixture(test)
  const answer = await call('POST', PATH, { body: { ...LEAST, defaultBackendId: 'nope' } })
  test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'defaultBackendId', code: 'NOT_FOUND' }] })
  const id = await created(LEAST)
  test.match((await change(id, { defaultBackendId: 'nope' })).json, { errors: [{ field: 'defaultBackendId' }] })
  test.equal((await read(id)).defaultBackendId, null)
})

t.test('fields that are not served yet are never stored, and refused on change as on creation', async (test) => {
  const { created, read, change } = await fixture(test)
  const nothing = {
    certificates: [],
    cipherListId: null,
    minTls: '',
    rules: [],
    httpRedirectToHttps: false,
    hsts: null,
  }
  const id = await created({ ...LEAST, ...nothing })
  const before = await read(id)
  for (const field of Object.keys(nothing)) test.notOk(field in before, field)
  test.equal((await change(id, nothing)).status, 200)
  test.same(await read(id), before)
  for (const asked of [
    { rules: [{}] },
    { hsts: 'on' },
    { certificates: ['a'] },
    { minTls: '1.3' },
    { cipherListId: 0 },
  ]) {
    const answer = await change(id, { ...asked, timeoutClient: 9 })
    test.match(answer.json, {
      code: 'INVALID_BODY',
      errors: [{ field: Object.keys(asked)[0], code: 'NOT_SERVED_YET' }],
    })
  }
  test.same(await read(id), before)
})

t.test('a backend stays as long as a frontend names it', async (test) => {
  const { call, created, change, backend } = await fixture(test)
  const used = await backend('b')
  const id = await created({ ...LEAST, defaultBackendId: used })
  const refused = await call('DELETE', `/layer7proxy/backends/${used}`)
  test.match(refused.json, {
    code: 'IN_USE',
    data: { usage: [{ resource: 'l7Frontends', id, field: 'defaultBackendId' }] },
  })
  await change(id, { defaultBackendId: null })
  test.equal((await call('DELETE', `/layer7proxy/backends/${used}`)).status, 200)
  test.equal((await call('DELETE', `${PATH}/${id}`)).status, 200)
  test.same((await call('GET', PATH)).json.data, [])
})

t.test('a read carries the tag for If-Match, a list none', async (test) => {
  const { call, created } = await fixture(test)
  const id = await created(LEAST)
  const headers = { 'if-match': String((await call('GET', `${PATH}/${id}`)).headers['ETag']) }
  test.match(headers, { 'if-match': /^"\d+"$/ })
  test.notOk('ETag' in (await call('GET', PATH)).headers)
  test.equal((await call('PUT', `${PATH}/${id}`, { body: { ports: '81' }, headers })).status, 200)
  test.match((await call('DELETE', `${PATH}/${id}`, { headers })).json, { code: 'REVISION_MISMATCH' })
})
