import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import t from 'tap'
import Ajv from 'ajv/dist/2020.js'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { certificateMaker } from '../../../fixtures/certificate-maker.ts'
import { ownAppliance, sharedAppliance } from '../../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

type Json = Readonly<Record<string, unknown>>

const web = (last: number, more: Json = {}) => ({ ip: `192.0.2.${last}`, port: 8080, ...more })
const SITE = {
  version: 1,
  owner: 'shop',
  realServers: { web1: web(1), web2: web(2, { weight: 50 }) },
  l7Backends: { shop: { mode: 'http', reals: [{ ripId: 'web1' }, { ripId: 'web2', backup: true }] } },
  l7Frontends: {
    shop: {
      mode: 'http',
      ip: '127.0.0.1',
      ports: '8090',
      defaultBackendId: 'shop',
      rules: [{ when: { all: [{ type: 'path', values: ['/a'] }] }, do: { type: 'backend', backendId: 'shop' } }],
    },
  },
}

async function fixture() {
  const made = await borrow()
  const { call } = made
  const plan = async (document: Json, more: Json = {}) =>
    (await call('POST', '/config/plan', { body: { document, ...more } })).json
  const applied = async (document: Json, more: Json = {}) => {
    const { data, ...refused } = await plan(document, more)
    if (data?.planId === undefined) throw new Error(JSON.stringify({ data, ...refused }))
    const { status, text } = await call('PUT', `/config/plans/${data.planId}/apply`)
    if (status !== 200) throw new Error(text)
    return data
  }
  const exported = async (query = '') => (await call('GET', `/config/document${query}`)).json.data
  const told = ({ data }: { readonly data: { readonly changes: readonly Json[] } }) =>
    data.changes.map(({ op, resource, name }) => `${String(op)} ${String(resource)} ${String(name)}`)
  return { ...made, plan, applied, exported, told }
}

t.test('a document is planned, applied as planned, and exported as sent', async (test) => {
  const { call, plan, exported, told } = await fixture()
  const [first, second] = [await plan(SITE), await plan(SITE)]
  test.same(told(first), [
    'create realServers web1',
    'create realServers web2',
    'create l7Backends shop',
    'create l7Frontends shop',
  ])
  test.match(first.data, {
    digest: second.data.digest,
    baseRevision: Number,
    files: [{ diff: /\+ +bind 127\.0\.0\.1:8090/ }],
    steps: [{ kind: 'check' }],
    warnings: [],
  })
  const answer = await call('PUT', `/config/plans/${first.data.planId}/apply`, { body: { comment: 'the shop' } })
  test.match([answer.status, answer.json.data], [200, { revision: first.data.baseRevision + 1 }])
  test.match((await call('GET', '/revisions?limit=1')).json.data, [{ comment: 'the shop' }])
  test.same(await exported('?owner=shop'), SITE)
  const nothing = await plan(SITE)
  test.match(nothing, { message: 'Nothing would change', data: { changes: [], files: [], steps: [], warnings: [] } })
  test.same(await plan(await exported()).then(told), [], 'the export matches the configuration')
})

t.test('a plan that running has overtaken is refused, and so is an expired one', async (test) => {
  const { call, plan } = await fixture()
  const [first, second] = [await plan(SITE), await plan(SITE)]
  await call('PUT', `/config/plans/${first.data.planId}/apply`)
  const late = await call('PUT', `/config/plans/${second.data.planId}/apply`)
  test.match([late.status, late.json.code, late.json.message], [412, 'REVISION_MISMATCH', /create it again/])
  const again = await call('PUT', `/config/plans/${first.data.planId}/apply`)
  test.match([again.status, again.json.code], [404, 'NOT_FOUND'])
})

t.test("pending changes of a document's record still belong to their author", async (test) => {
  const { call, plan, applied } = await fixture()
  await applied(SITE)
  const { data: reals } = (await call('GET', '/ipvsDirector/rips?name=web1')).json
  await call('PUT', `/ipvsDirector/rips/${reals[0].id}`, { body: { port: 81 } })
  const refused = await plan({ ...SITE, realServers: { ...SITE.realServers, web1: web(1, { port: 82 }) } })
  test.match(refused, { code: 'DEPENDS_ON_PENDING', message: /apply those/ })
  test.match((await call('GET', '/services/pending')).json.data, { count: 1 })
})

t.test('a document does not decide whether a server is drained, unless it says so', async (test) => {
  const { call, plan, applied, exported, told } = await fixture()
  await applied(SITE)
  const { data: reals } = (await call('GET', '/ipvsDirector/rips?name=web1')).json
  await call('PUT', `/ipvsDirector/rips/${reals[0].id}/drain`)
  await call('PUT', '/services/apply')
  test.same(told(await plan(SITE)), [])
  test.match(await exported(), { realServers: { web1: { state: 'drained' } } })
  const back = await plan({ ...SITE, realServers: { ...SITE.realServers, web1: web(1, { state: 'online' }) } })
  test.match(back.data.changes, [{ before: { state: 'drained' }, after: { state: 'online' } }])
})

t.test('owners: records of others are left alone, taken over on request, and never pruned', async (test) => {
  const { call, plan, applied, exported, told } = await fixture()
  await applied(SITE)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'nobodys', ip: '192.0.2.9', port: 1 } })
  await call('PUT', '/services/apply')
  const other = { version: 1, owner: 'other', realServers: { web1: web(1), mine: web(7) } }
  test.same(told(await plan(other)), ['create realServers mine'], 'the same in both')
  const refused = await plan({ ...other, realServers: { web1: web(3), nobodys: web(4) } })
  test.match(refused, {
    code: 'INVALID_BODY',
    errors: [
      { field: 'document.realServers.web1', code: 'NOT_OWNER', message: /belongs to shop.*other.*takeOver/ },
      { field: 'document.realServers.nobodys', code: 'NOT_OWNER', message: /belongs to nobody/ },
    ],
  })
  const taken = await plan({ ...other, realServers: { web1: web(3) } }, { takeOver: true })
  test.match(taken.data.changes, [{ after: { ip: '192.0.2.3', owner: 'other' } }])
  await applied(other)
  const { l7Backends: _backends, l7Frontends: _frontends, ...servers } = SITE
  const pruned = await applied({ ...servers, realServers: { web1: web(1) } }, { prune: true })
  test.same(told({ data: pruned }), ['delete l7Frontends shop', 'delete l7Backends shop', 'delete realServers web2'])
  test.same(Object.keys((await exported()).realServers), ['mine', 'nobodys', 'web1'])
  const nobody = await plan({ version: 1 }, { prune: true })
  test.match(nobody, { code: 'INVALID_BODY', errors: [{ field: 'prune', code: 'OWNER_NEEDED' }] })
})

t.test('pruning a record in use by others is refused by name', async (test) => {
  const { call, plan, applied } = await fixture()
  await applied(SITE)
  const theirs = { name: 'theirs', mode: 'http', reals: [{ ripId: { name: 'web2' } }] }
  await call('POST', '/layer7proxy/backends', { body: theirs })
  await call('PUT', '/services/apply')
  const { l7Backends: _backends, l7Frontends: _frontends, ...servers } = SITE
  const refused = await plan({ ...servers, realServers: { web1: web(1) } }, { prune: true })
  test.match(refused, {
    code: 'IN_USE',
    errors: [{ field: 'document.realServers.web2', code: 'IN_USE', message: /is used by Layer 7 backend theirs/ }],
    data: { usage: [{ resource: 'l7Backends', name: 'theirs' }] },
  })
})

t.test('a rename keeps the record, its id and its references', async (test) => {
  const { call, applied } = await fixture()
  await applied(SITE)
  const before = (await call('GET', '/layer7proxy/backends?name=shop')).json.data[0]
  const renamed = {
    ...SITE,
    renamed: { l7Backends: { shop: 'store' } },
    l7Backends: { store: SITE.l7Backends.shop },
    l7Frontends: { shop: { ...SITE.l7Frontends.shop, defaultBackendId: 'store', rules: [] } },
  }
  const { changes } = await applied(renamed, { prune: true })
  test.match(changes, [
    { op: 'update', resource: 'l7Backends', before: { name: 'shop' }, after: { name: 'store' } },
    { op: 'update', resource: 'l7Frontends', before: { rules: [{}] }, after: { rules: [] } },
  ])
  test.equal((await call('GET', `/layer7proxy/backends/${before.id}`)).json.data.name, 'store')
})

t.test('every problem is reported at its place, and nothing is touched', async (test) => {
  const { call, state, plan } = await fixture()
  const before = await rowsIn(state)
  test.ok((await plan(SITE)).data.planId)
  const fields = async (document: Json) => {
    const { code, errors } = await plan(document)
    return [code, ...errors.map(({ field }: { readonly field: string }) => field.replace(/^document\./, ''))]
  }
  test.same(await fields({ version: 2, l7Frontends: { a: { mode: 'http' } }, more: 1 }), [
    'INVALID_BODY',
    'more',
    'version',
    'l7Frontends.a.ip',
    'l7Frontends.a.ports',
  ])
  test.same(await fields({ version: 1, realServers: { a: { ip: 'x y' } } }), ['INVALID_BODY', 'realServers.a.ip'])
  const unknown = { version: 1, l7Backends: { a: { mode: 'http', reals: [{ ripId: 'no' }], healthCheck: CHECK } } }
  test.same(await fields(unknown), ['INVALID_BODY', 'l7Backends.a.reals.0.ripId', 'l7Backends.a.healthCheck.id'])
  const rules = { ...SITE.l7Frontends.shop, rules: [{ do: { type: 'redirect' } }], hsts: true }
  test.same((await fields({ ...SITE, l7Frontends: { shop: rules } })).slice(0, 2), [
    'INVALID_BODY',
    'l7Frontends.shop.rules.0.do.to',
  ])
  const twice = { version: 1, realServers: { a: web(1), A: web(2) } }
  test.same(await fields(twice), ['INVALID_BODY', 'realServers.A'])
  const noPort = {
    version: 1,
    realServers: { a: { ip: '192.0.2.1' } },
    l7Backends: { b: { mode: 'tcp', reals: [{ ripId: 'a' }] } },
  }
  test.same(await fields(noPort), ['CONFIG_INVALID', 'l7Backends.b.reals.0.port'])
  const query = await call('GET', '/config/document?sections=realServers,users')
  test.match(query.json, { code: 'INVALID_QUERY', errors: [{ field: 'sections', message: /users; known are/ }] })
  test.same(await rowsIn(state), before, 'every row of the store but how far the audit log is')
  test.match((await call('GET', '/services/pending')).json.data, { count: 0 })
})

/** Returns all rows of a running daemon's configuration store, as they are on the disk. */
async function rowsIn(state: string): Promise<readonly string[]> {
  const copy = temporaryFolder(t, 'copied-store')
  cpSync(join(state, 'config', 'data.mdb'), join(copy, 'data.mdb'))
  const root = open({ path: copy, readOnly: true, maxDbs: 64, encoding: 'binary', keyEncoding: 'binary' })
  const rows = [...root.getKeys()].flatMap((name) => {
    const table = root.openDB({ name: String(name), encoding: 'binary', keyEncoding: 'binary' })
    return [...table.getRange()].map(({ key, value }) => `${String(name)} ${String(key)} ${String(value)}`)
  })
  await root.close()
  return rows.filter((row) => !row.includes(' caller audit head '))
}

const CHECK = { type: 'script', id: 'no such' }

t.test('certificates are sent with their key, exported without it, and stay when they are the same', async (test) => {
  const { plan, applied, exported, told } = await fixture()
  const { cert, key } = certificateMaker(test).pair({ name: 'www.test' })
  const secure = (certificates: Json) => ({
    version: 1,
    certificates,
    l7Frontends: { tls: { mode: 'http', ip: '127.0.0.1', ports: '8443', certificates: ['www'] } },
  })
  await applied(secure({ www: { pem: `${cert}${key}` } }))
  const { certificates, ...rest } = await exported()
  test.match(rest.l7Frontends.tls, { certificates: ['www'] })
  test.notMatch(JSON.stringify(certificates), 'PRIVATE KEY')
  test.same(told(await plan(secure(certificates))), [])
  test.same(told(await plan(secure({ www: { pem: `${cert}${key}` } }))), [], 'nor with the existing key')
  const other = certificateMaker(test).pair({ name: 'new.test' })
  const changed = await plan(secure({ www: { pem: `${other.cert}${other.key}` } }))
  test.same(told(changed), ['update certificates www'])
  test.notMatch(JSON.stringify(changed), /PRIVATE KEY|BEGIN/)
  const keyless = await plan(secure({ www: { pem: other.cert } }))
  test.match(keyless, { errors: [{ field: /^document\.certificates\.www/ }] })
})

t.test('planning and applying needs the rights to make the changes', async (test) => {
  const { call, anonymous, login } = await fixture()
  const role = {
    name: 'planners',
    users: [],
    groups: [],
    endpoints: [
      { path: '/config/plan', methods: ['POST'] },
      { path: '/config/plans/{id}/apply', methods: ['PUT'] },
      { path: '/ipvsDirector/rips', methods: ['GET', 'POST'] },
      { path: '/layer7proxy/backends', methods: ['GET'] },
      { path: '/layer7proxy/frontends', methods: ['GET'] },
    ],
  }
  const { id } = (await call('POST', '/rbac/roles', { body: role })).json.data
  const user = { email: 'p@localhost', firstname: 'P', lastname: 'L', password: 'a-long-password', disabled: false }
  await call('POST', '/localUsers/users', { body: { ...user, roles: [id] } })
  await call('PUT', '/services/apply')
  const token = await login(user.email, user.password)
  const body = { document: { version: 1, realServers: SITE.realServers } }
  const may = await anonymous('POST', '/config/plan', { token, body })
  test.equal(may.status, 200, may.text)
  const refused = await anonymous('POST', '/config/plan', { token, body: { document: SITE } })
  test.match(
    [refused.status, refused.json.errors],
    [403, [{ field: 'document.l7Backends.shop', message: /l7Backends.create/ }, { message: /l7Frontends/ }]],
  )
  const full = (await call('POST', '/config/plan', { body: { document: SITE } })).json.data.planId
  const applied = await anonymous('PUT', `/config/plans/${full}/apply`, { token })
  test.match([applied.status, applied.json.code], [403, 'PERMISSION_DENIED'])
})

t.test('raw lines and the syslog server are whole, and stay when left out', async (test) => {
  const { plan, applied, exported, told } = await fixture()
  const settings = {
    ...SITE,
    syslogServers: { host: 'logs.test', transport: 'tcp', port: 601 },
    l7Raw: { defaults: ['option dontlognull'], backends: [{ id: 'shop', lines: ['option log-health-checks'] }] },
  }
  await applied(settings)
  const { syslogServers, l7Raw } = await exported()
  test.same([syslogServers, l7Raw], [settings.syslogServers, settings.l7Raw])
  test.same(told(await plan(SITE)), [])
  const emptied = await plan({ ...SITE, l7Raw: {}, syslogServers: {} })
  test.same(told(emptied), ['delete syslogServers cluster', 'update l7Raw cluster'])
})

t.test('the schema is valid, and accepts exports', async (test) => {
  const { call, applied, exported } = await fixture()
  await applied(SITE)
  const { status, text, headers } = await call('GET', '/config/schema.json')
  test.match([status, headers], [200, { ETag: /"/ }])
  const validate = new Ajv.default({ strict: false, validateFormats: false }).compile(JSON.parse(text))
  test.equal(validate(await exported()), true, JSON.stringify(validate.errors))
  test.equal(validate({ ...SITE, l7Backends: { shop: { mode: 'udp' } } }), false)
})

t.test('plans are lost with the daemon', async (test) => {
  const { call } = await ownAppliance(test)
  const answer = await call('PUT', '/config/plans/01a21454-2047-7000-9c39-a050984a2877/apply')
  test.match([answer.status, answer.json.message], [404, /do not survive a restart of the daemon/])
})

t.test('sections that a user may not see are neither exported nor planned', async (test) => {
  const { call, anonymous, login, applied } = await fixture()
  await applied(SITE)
  const endpoints = [
    { path: '/config/document', methods: ['GET'] },
    { path: '/config/plan', methods: ['POST'] },
    { path: '/layer7proxy/backends', methods: ['GET'] },
  ]
  const role = { name: 'lookers', users: [], groups: [], endpoints }
  const { id } = (await call('POST', '/rbac/roles', { body: role })).json.data
  const user = { email: 'l@localhost', firstname: 'L', lastname: 'O', password: 'a-long-password', disabled: false }
  await call('POST', '/localUsers/users', { body: { ...user, roles: [id] } })
  await call('PUT', '/services/apply')
  const token = await login(user.email, user.password)
  const { data } = (await anonymous('GET', '/config/document', { token })).json
  test.same(Object.keys(data), ['version', 'l7Backends'])
  const guess = { version: 1, owner: 'shop', realServers: { web1: web(1) } }
  const refused = await anonymous('POST', '/config/plan', { token, body: { document: guess } })
  test.match(
    [refused.status, refused.json.errors],
    [403, [{ field: 'document.realServers', message: /realServers\.list/ }]],
  )
})

t.test('renames of missing records are refused, and a completed one protects nothing from pruning', async (test) => {
  const { call, plan, applied, told } = await fixture()
  const wrong = { version: 1, renamed: { realServers: { a: 'x', b: 'x', c: 'y' } }, realServers: { x: web(1) } }
  test.match(await plan(wrong), {
    code: 'INVALID_BODY',
    errors: [
      { field: 'document.renamed.realServers.b', message: /new name of another record/ },
      { field: 'document.renamed.realServers.c', message: /under this name/ },
    ],
  })
  const moved = { version: 1, owner: 'shop', renamed: { realServers: { old: 'new' } }, realServers: { new: web(1) } }
  await applied({ version: 1, owner: 'shop', realServers: { old: web(1) } })
  await applied(moved, { prune: true })
  await call('POST', '/ipvsDirector/rips', { body: { name: 'old', ip: '192.0.2.9', port: 1, owner: 'shop' } })
  await call('PUT', '/services/apply')
  test.same(told(await plan(moved, { prune: true })), ['delete realServers old'])
})

t.test('too many records are counted before they are read, and problems are limited', async (test) => {
  const { plan } = await fixture()
  const many = Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [`web${at}`, { ip: 'x y' }]))
  const { code, errors } = await plan({ version: 1, realServers: many })
  test.match([code, errors], ['INVALID_BODY', [{ field: 'document.realServers', message: /more than 20000 entries/ }]])
  test.equal(errors.length, 1)
  const reals = Array.from({ length: 30 }, (_, at) => ({ ripId: `no ${at}` }))
  const backends = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`b${at}`, { mode: 'http', reals }]))
  const unknown = await plan({ version: 1, l7Backends: backends })
  test.match([unknown.message, unknown.errors.length], [/has 600 problems/, 200])
})

t.test('an impossible name is refused at its place, and its record is still checked', async (test) => {
  const { plan } = await fixture()
  const realServers = { '': web(1), ' ': web(2), 'a\u001b[31m': web(3), ['x'.repeat(129)]: web(4) }
  const { code, errors } = await plan({ version: 1, realServers })
  test.equal(code, 'INVALID_BODY')
  test.same(
    errors.map(({ field, code: what }: Json) => [field, what]),
    [
      ['document.realServers.', 'OUT_OF_RANGE'],
      ['document.realServers. ', 'FORMAT'],
      ['document.realServers.a\u001b[31m', 'FORMAT'],
      [`document.realServers.${'x'.repeat(129)}`, 'OUT_OF_RANGE'],
    ],
  )
  const floatingIps = await plan({ version: 1, floatingIps: { nonsense: {} } })
  const [, ofName] = floatingIps.errors
  test.match(ofName, { field: 'document.floatingIps.nonsense', message: 'must be an IPv4 or IPv6 address' })
  const renamed = await plan({ version: 1, renamed: { realServers: { '': 5 } } })
  test.match(renamed, { code: 'INVALID_BODY', errors: [{ field: 'document.renamed.realServers.' }] })
})
