import t from 'tap'
import { stillFacts } from '../../fixtures/appliance.ts'
import { ownAppliance, sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

const PATH = '/layer7proxy/frontends'
const LATER_DEFAULTS = {
  certificates: [],
  cipherListId: null,
  minTls: '1.2',
  httpRedirectToHttps: false,
  hsts: false,
  logs: { enabled: false },
  rules: [],
  maintenance: { enabled: false },
  errorPages: [],
  compression: { enabled: false },
  timeouts: {},
  alpn: [],
  http3: false,
  proxyProtocol: false,
  clientCa: '',
  clientVerify: 'none',
}
const LEAST = { name: 'www', mode: 'http', ip: '127.0.0.1', ports: '80' }

const backendRule = (backendId: string) => ({ type: 'backend', backendId })

async function fixture() {
  const { call } = await borrow()
  const backend = async (name: string) =>
    String((await call('POST', '/layer7proxy/backends', { body: { name, mode: 'http' } })).json.data.id)
  const created = async (body: object) => String((await call('POST', PATH, { body })).json.data.id)
  const read = async (id: string) => (await call('GET', `${PATH}/${id}`)).json.data
  const change = (id: string, body: object) => call('PUT', `${PATH}/${id}`, { body })
  return { call, backend, created, read, change }
}

t.test('four fields make a frontend; the others have defaults', async (test) => {
  const { created, read } = await fixture()
  const id = await created(LEAST)
  test.same(await read(id), {
    ...LEAST,
    id,
    defaultBackendId: null,
    maxConn: null,
    timeoutClient: 30,
    forwardFor: true,
    enabled: true,
    ...LATER_DEFAULTS,
  })
})

t.test('sent values override defaults, and an id is no field', async (test) => {
  const { call, created, read, backend } = await fixture()
  const more = { maxConn: 7, timeoutClient: 1, forwardFor: false, enabled: false, defaultBackendId: await backend('b') }
  const id = await created({ ...LEAST, ...more })
  test.same(await read(id), { ...LEAST, ...LATER_DEFAULTS, ...more, id })
  const answer = await call('POST', PATH, { body: { ...LEAST, name: 'x', id: 'mine' } })
  test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'id', code: 'UNKNOWN' }] })
})

t.test('a change keeps omitted fields; null removes the backend and the limit', async (test) => {
  const { created, read, change, backend } = await fixture()
  const id = await created({ ...LEAST, maxConn: 7, timeoutClient: 5, defaultBackendId: await backend('b') })
  const before = await read(id)
  test.equal((await change(id, { ports: '80,443,8000-8010' })).status, 200)
  test.same(await read(id), { ...before, ports: '80,443,8000-8010' })
  test.equal((await change(id, { defaultBackendId: null, maxConn: null })).status, 200)
  test.same(await read(id), { ...before, ports: '80,443,8000-8010', defaultBackendId: null, maxConn: null })
  test.equal((await change(id, {})).status, 200)
})

t.test('a running record, sent back as read, or changed and changed back, is no change', async (test) => {
  const { call, created, read, change } = await fixture()
  const pending = async () => (await call('GET', '/services/pending')).json.data.changes
  const id = await created(LEAST)
  await change(id, await read(id))
  test.same(Object.keys((await pending())[0].after).length, 10, 'implied values are not stored')
  test.equal((await call('PUT', '/services/apply')).status, 200)
  await change(id, await read(id))
  test.same(await pending(), [])
  await change(id, { maintenance: { enabled: true }, hsts: null, owner: null, rules: null })
  test.same((await pending())[0].after, { maintenance: { enabled: true } })
  await change(id, { maintenance: { enabled: false } })
  test.same(await pending(), [])
})

t.test('stored values stay, whatever they would be by default', async (test) => {
  const { call, created, read, change } = await fixture()
  const pending = async () => (await call('GET', '/services/pending')).json.data.changes
  const id = await created({ ...LEAST, minTls: '1.2' })
  test.equal((await call('PUT', '/services/apply')).status, 200)
  await change(id, await read(id))
  test.same(await pending(), [])
  await change(id, { minTls: '1.3' })
  await change(id, { minTls: null })
  test.same(await pending(), [])
})

t.test('a missing backend is named, on creation and change', async (test) => {
  const { call, created, change, read } = await fixture()
  const answer = await call('POST', PATH, { body: { ...LEAST, defaultBackendId: 'nope' } })
  test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'defaultBackendId', code: 'NOT_FOUND' }] })
  const id = await created(LEAST)
  test.match((await change(id, { defaultBackendId: 'nope' })).json, { errors: [{ field: 'defaultBackendId' }] })
  test.equal((await read(id)).defaultBackendId, null)
})

t.test('rules are stored in their order, replaced as a whole, and removed by null', async (test) => {
  const { created, read, change, backend } = await fixture()
  const rules = [
    {
      name: 'API',
      when: { any: [{ type: 'path', match: 'begins', values: ['/api'] }] },
      do: backendRule(await backend('api')),
    },
    { do: { type: 'setHeader', name: 'X-Source', value: '{source}' } },
  ]
  const id = await created({ ...LEAST, rules })
  test.same((await read(id)).rules, rules)
  test.equal((await change(id, { rules: rules.toReversed() })).status, 200)
  test.same((await read(id)).rules, rules.toReversed())
  test.equal((await change(id, { timeoutClient: 7 })).status, 200)
  test.same((await read(id)).rules, rules.toReversed())
  test.equal((await change(id, { rules: null })).status, 200)
  test.same((await read(id)).rules, [])
})

t.test('an invalid rule is refused with its field, and nothing is stored', async (test) => {
  const { created, read, change } = await fixture()
  const id = await created(LEAST)
  const before = await read(id)
  for (const [rule, field] of [
    [{}, 'rules.0.do'],
    [{ do: { type: 'fly' } }, 'rules.0.do.type'],
    [{ do: { type: 'backend' } }, 'rules.0.do.backendId'],
    [{ do: { type: 'backend', backendId: 'nope' } }, 'rules.0.do.backendId'],
    [{ do: { type: 'deny', colour: 'red' } }, 'rules.0.do.colour'],
    [{ do: { type: 'deny', to: '/x' } }, 'rules.0.do.to'],
    [{ when: {}, do: { type: 'deny' } }, 'rules.0.when'],
    [{ when: { all: [{ type: 'path', values: ['x'] }] }, do: { type: 'deny' } }, 'rules.0.when.all.0.values.0'],
  ] as const) {
    const { json } = await change(id, { rules: [rule], timeoutClient: 9 })
    test.match(json, { code: 'INVALID_BODY', errors: [{ field }] }, JSON.stringify(rule))
  }
  test.same(await read(id), before)
})

t.test('TLS: sent fields are read back; a change keeps omitted ones', async (test) => {
  const { call, created, read, change } = await fixture()
  const ciphers = ['TLS_AES_128_GCM_SHA256']
  const cipherListId = (await call('POST', '/ciphers/lists', { body: { name: 'l', ciphers } })).json.data.cipherListID
  const tls = { cipherListId, minTls: '1.3', httpRedirectToHttps: true, hsts: 300 }
  const id = await created({ ...LEAST, ...tls })
  test.match(await read(id), tls)
  await change(id, { hsts: true, cipherListId: null })
  test.match(await read(id), { ...tls, hsts: true, cipherListId: null })
  for (const [field, value] of [
    ['minTls', '1.4'],
    ['hsts', -1],
    ['certificates', ['gone']],
    ['cipherListId', 'gone'],
  ] as const) {
    const refused = await change(id, { [field]: value })
    test.match(refused.json, { code: 'INVALID_BODY' }, field)
    test.match(refused.json.errors[0].field, field)
  }
})

t.test('redirect and HSTS are refused for mode tcp, all at once', async (test) => {
  const { call, created, change } = await fixture()
  const sent = { ...LEAST, mode: 'tcp', httpRedirectToHttps: true, hsts: true }
  const refused = await call('POST', PATH, { body: sent })
  test.match(refused.json, { code: 'INVALID_BODY', errors: [{ field: 'httpRedirectToHttps' }, { field: 'hsts' }] })
  const id = await created({ ...LEAST, hsts: true })
  test.match((await change(id, { mode: 'tcp' })).json, { errors: [{ field: 'hsts' }] })
  test.equal((await change(id, { mode: 'tcp', hsts: false })).status, 200)
})

t.test('a backend stays as long as a frontend refers to it', async (test) => {
  const { call, created, change, backend } = await fixture()
  const used = await backend('b')
  const id = await created({ ...LEAST, defaultBackendId: used })
  const refused = await call('DELETE', `/layer7proxy/backends/${used}`)
  test.match(refused.json, {
    code: 'IN_USE',
    data: { usage: [{ resource: 'l7Frontends', id, field: 'defaultBackendId' }] },
  })
  await change(id, { defaultBackendId: null, rules: [{ do: backendRule(used) }] })
  test.match((await call('DELETE', `/layer7proxy/backends/${used}`)).json, {
    code: 'IN_USE',
    data: { usage: [{ resource: 'l7Frontends', id, field: 'rules.0.do.backendId' }] },
  })
  await change(id, { rules: [] })
  test.equal((await call('DELETE', `/layer7proxy/backends/${used}`)).status, 200)
  test.equal((await call('DELETE', `${PATH}/${id}`)).status, 200)
  test.same((await call('GET', PATH)).json.data, [])
})

t.test('a read has the tag for If-Match, a list none', async (test) => {
  const { call, created } = await fixture()
  const id = await created(LEAST)
  const headers = { 'if-match': String((await call('GET', `${PATH}/${id}`)).headers['ETag']) }
  test.match(headers, { 'if-match': /^"\d+"$/ })
  test.notOk('ETag' in (await call('GET', PATH)).headers)
  test.equal((await call('PUT', `${PATH}/${id}`, { body: { ports: '81' }, headers })).status, 200)
  test.match((await call('DELETE', `${PATH}/${id}`, { headers })).json, { code: 'REVISION_MISMATCH' })
})

t.test('HTTP/3 is NOT_SUPPORTED where HAProxy lacks it', async (test) => {
  for (const [haproxy, says] of [
    [{ version: '2.6.12', hasQuic: false }, /2\.9 or later, .* but this is 2\.6\.12 without/],
    [{ version: '2.8.5', hasQuic: true }, /this is 2\.8\.5$/],
    [undefined, /none is installed/],
  ] as const) {
    const { call } = await ownAppliance(test, { machineMore: { facts: stillFacts({ haproxy: async () => haproxy }) } })
    const id = String((await call('POST', PATH, { body: LEAST })).json.data.id)
    const errors = [{ field: 'http3', message: says }]
    const refused = { json: { code: 'NOT_SUPPORTED', errors } }
    test.match(await call('PUT', `${PATH}/${id}`, { body: { http3: true } }), refused)
    test.match(await call('POST', PATH, { body: { ...LEAST, name: 'x', http3: true } }), refused)
    test.equal((await call('PUT', `${PATH}/${id}`, { body: { http3: false } })).status, 200)
  }
})

t.test('an access log needs mode http, and its headers are names', async (test) => {
  const { created, read, change } = await fixture()
  const logs = { enabled: true, headers: ['User-Agent'] }
  const id = await created({ ...LEAST, logs })
  test.match(await read(id), { logs })
  test.match((await change(id, { mode: 'tcp' })).json, { code: 'INVALID_BODY', errors: [{ field: 'logs' }] })
  for (const name of ['a b', '%[src]', 'a"', 'a\n'])
    test.match((await change(id, { logs: { enabled: true, headers: [name] } })).json, {
      errors: [{ field: 'logs.headers.0' }],
    })
  test.equal((await change(id, { logs: null })).status, 200)
  test.match(await read(id), { logs: { enabled: false } })
})
