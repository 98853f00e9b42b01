import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import { Compile } from 'typebox/compile'
import t, { type Test } from 'tap'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { DEFAULT_ROLES } from '../../src/api/access.ts'
import { documentedPath } from '../../src/api/documented-path.ts'
import { openapiDocument } from '../../src/api/openapi.ts'
import { endpoints as table } from '../../src/resources/index.ts'
import { applianceFixture, type Caller } from '../fixtures/appliance.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { until } from '../fixtures/until.ts'

/** Rights without a path are part of the table, and cannot be called. */
const endpoints = table.filter((endpoint) => !endpoint.permissionOnly)

const HEALTH_CHECK = { name: 'own', description: '', script: '#!/bin/sh\nexit 0\n', services: ['layer-7'] }
const SECRET = /argon2|passwordHash":"(?!\*\*)|PRIVATE KEY/

/** Returns a path with a value for every parameter. */
function concrete(endpoint: Endpoint, node: string, values: Readonly<Record<string, string>> = {}): string {
  return endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    /^applianceI[dD]$/.test(name) ? node : (values[name] ?? 'unknown-1'),
  )
}

const byText = (a: string, b: string) => a.localeCompare(b)

const requiredOf = (schema: unknown): readonly string[] =>
  typeof schema === 'object' && schema !== null ? ((Reflect.get(schema, 'required') as string[] | undefined) ?? []) : []

t.test('without a token: 401 with WWW-Authenticate, except where the contract says none is needed', async (test) => {
  const { anonymous, node } = await applianceFixture(test)
  for (const endpoint of endpoints) {
    const answer = await anonymous(endpoint.method, concrete(endpoint, node))
    const title = `${endpoint.method} ${endpoint.path}`
    if (endpoint.access === 'public') test.not(answer.status, 401, title)
    else {
      test.equal(answer.status, 401, title)
      test.match(answer.json, { status: 'error', code: 'UNAUTHENTICATED' }, title)
      test.equal(answer.headers['WWW-Authenticate'], 'Bearer', title)
    }
  }
})

t.test('a user without roles gets 403 wherever a grant is needed, before the body is read', async (test) => {
  const { call, anonymous, login, node } = await applianceFixture(test)
  const body = {
    email: 'nobody@localhost',
    firstname: 'No',
    lastname: 'Body',
    password: 'nobody-may',
    disabled: 'false',
  }
  await call('POST', '/localUsers/users', { body })
  await call('PUT', '/services/apply')
  const token = await login(body.email, body.password)
  for (const endpoint of endpoints) {
    const title = `${endpoint.method} ${endpoint.path}`
    const answer = await anonymous(endpoint.method, concrete(endpoint, node), {
      token,
      raw: endpoint.method === 'GET' ? '' : '{',
    })
    if (endpoint.access === 'granted') test.match(answer.json, { code: 'PERMISSION_DENIED' }, title)
    else test.not(answer.status, 403, title)
  }
})

t.test('an empty body is 422 naming every required field; an empty query likewise', async (test) => {
  const { call, node } = await applianceFixture(test)
  for (const endpoint of endpoints) {
    const title = `${endpoint.method} ${endpoint.path}`
    for (const [kind, required] of [
      ['INVALID_BODY', [...requiredOf(endpoint.body), ...endpoint.needsOneOf.flatMap(([first = '']) => first)]],
      ['INVALID_QUERY', requiredOf(endpoint.query)],
    ] as const) {
      if (required.length === 0) continue
      const answer = await call(
        endpoint.method,
        concrete(endpoint, node),
        endpoint.method === 'GET' ? {} : { raw: '{}' },
      )
      test.equal(answer.status, 422, title)
      test.equal(answer.json.code, kind, title)
      const named: string[] = answer.json.errors
        .filter(({ code }: { code: string }) => endpoint.rules === undefined || code === 'REQUIRED')
        .map(({ field }: { field: string }) => field)
      test.same(named.toSorted(byText), [...required].toSorted(byText), title)
    }
  }
})

t.test('unknown fields and query parameters are refused by name on every endpoint', async (test) => {
  const { call, node } = await applianceFixture(test)
  for (const endpoint of endpoints) {
    const title = `${endpoint.method} ${endpoint.path}`
    const path = concrete(endpoint, node)
    if (endpoint.method !== 'GET') {
      const answer = await call(endpoint.method, path, { body: { surprise: 1 } })
      test.match(answer.json, { code: 'INVALID_BODY' }, title)
      test.ok(
        answer.json.errors?.some((entry: { field: string }) => entry.field === 'surprise'),
        title,
      )
    } else {
      // Providers send unknown parameters, which have to be ignored: the path has no login, and is refused for that.
      if (endpoint.name === 'oidc.callback') continue
      const answer = await call('GET', `${path}?surprise=1`)
      test.match(answer.json, { code: 'INVALID_QUERY' }, title)
      test.ok(
        answer.json.errors?.some((entry: { field: string }) => entry.field === 'surprise'),
        title,
      )
    }
  }
})

const isHistory = (name: string): boolean => /^l[47](Node)?History/.test(name)

t.test('an unknown record, service or node is 404', async (test) => {
  const { call, node } = await applianceFixture(test)
  const samples: Readonly<Record<string, unknown>> = {
    'groups.update': { name: 'x' },
    'realServers.update': { port: 80 },
    'healthChecks.update': HEALTH_CHECK,
    'healthChecks.test': { ip: '192.0.2.1', port: 80 },
    'radiusUsers.update': { disabled: true },
    'ipGroups.update': { name: 'x' },
    'staticIps.update': { groupId: 'x', ip: '192.0.2.1' },
    'floatingIps.update': { groupId: 'x', ip: '192.0.2.1' },
    'floatingIps.move': { nodeId: 'x' },
    'ipRoutes.update': { name: 'x', type: 'blackhole', destination: '192.0.2.0/24' },
    'snmpUsers.update': { writeAccess: true },
  }
  const queries: Readonly<Record<string, string>> = { 'staticIps.delete': '?ip=192.0.2.1' }
  for (const endpoint of endpoints) {
    if (!endpoint.path.includes('{')) continue
    const title = `${endpoint.method} ${endpoint.path}`
    const query = isHistory(endpoint.name) ? '?start=1&end=2' : (queries[endpoint.name] ?? '')
    const body = samples[endpoint.name]
    const sent = body === undefined ? {} : { body }
    if (/\{applianceI[dD]\}/.test(endpoint.path)) {
      const answer = await call(endpoint.method, `${concrete(endpoint, 'another-node')}${query}`, sent)
      test.match(answer.json, { code: 'NOT_FOUND' }, `${title} on another node`)
    }
    if (!/\{(?!appliance)/.test(endpoint.path)) continue
    const answer = await call(endpoint.method, `${concrete(endpoint, node)}${query}`, sent)
    test.equal(answer.status, 404, title)
    test.match(answer.json, { status: 'error', code: 'NOT_FOUND' }, title)
  }
})

t.test('every other method on a known path is 405 with Allow', async (test) => {
  const { call, node } = await applianceFixture(test)
  const judged = new Set<string>()
  const paths = new Set(endpoints.map((endpoint) => endpoint.path))
  for (const path of paths) {
    const here = endpoints.filter((endpoint) => endpoint.path === path)
    const known = new Set(here.map((endpoint) => endpoint.method))
    const [first] = here
    if (first === undefined) continue
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE']) {
      if (known.has(method as never)) continue
      const answer = await call(method, concrete(first, node))
      // A parameter may match the fixed segment of another endpoint.
      if (answer.status === 404 && answer.json.code === 'NOT_FOUND') continue
      if (answer.status === 422) continue
      judged.add(path)
      test.equal(answer.status, 405, `${method} ${path}`)
      test.ok(answer.headers['Allow']?.includes(first.method), `${method} ${path}`)
    }
  }
  test.same(
    [...paths].filter((path) => !judged.has(path)),
    [],
    'every path was checked',
  )
})

t.test(
  'HEAD answers like GET, OPTIONS with the methods; one trailing slash and `_` parameters are ignored',
  async (test) => {
    const { call, node } = await applianceFixture(test)
    for (const endpoint of endpoints) {
      const path = concrete(endpoint, node)
      const title = `${endpoint.method} ${endpoint.path}`
      const options = await call('OPTIONS', path, { token: '' })
      test.equal(options.status, 204, title)
      test.match(options.headers['Allow'], endpoint.method, title)
      if (endpoint.method !== 'GET' || endpoint.path === '/events') continue
      const [get, ...others] = [
        await call('GET', path),
        await call('HEAD', path),
        await call('GET', `${path}/`),
        await call('GET', `${path}?_=1&_a=%20&_=2`),
      ]
      for (const other of others) test.equal(other.status, get?.status, title)
    }
  },
)

t.test('unknown paths are 404 UNKNOWN_ENDPOINT', async (test) => {
  const { call } = await applianceFixture(test)
  for (const path of ['', '/', '/nope', '/ping//', '/Ping', '/services/apply/x', '/../v1/ping']) {
    test.match((await call('GET', path)).json, { status: 'error', code: 'UNKNOWN_ENDPOINT' }, path)
  }
})

/** Returns everything below a folder with its content: the meaning of "byte-identical". */
function snapshot(folder: string, skip: readonly string[]): Readonly<Record<string, string>> {
  const files: Record<string, string> = {}
  for (const name of readdirSync(folder)) {
    if (skip.includes(name)) continue
    const path = join(folder, name)
    if (statSync(path).isDirectory()) Object.assign(files, snapshot(path, skip))
    else files[path] = createHash('sha256').update(readFileSync(path)).digest('hex')
  }
  return files
}

/** The same, once the notes after an answer (the end of the audit log) have been written. */
async function settled(folder: string, call: Caller): Promise<ReturnType<typeof snapshot>> {
  const [{ seq }] = (await call('GET', '/audit?limit=1')).json.data
  const root = open({ path: folder, maxDbs: 16, readOnly: true })
  const meta = root.openDB<Buffer, string>({ name: 'meta', encoding: 'binary' })
  await until(
    'the end of the audit log to be noted',
    () => [...meta.getRange()].flatMap(({ key, value }) => (key.endsWith('audit head') ? [String(value)] : [])),
    ([noted]) => noted?.includes(`"seq":${seq},`) === true,
  )
  await root.close()
  return snapshot(folder, ['lock.mdb'])
}

/**
 * Endpoints that need another server first: test/src/resources/{radius-users,sign-in/saml,sign-in/oidc}.test.ts have
 * one.
 */
const madeAtLogin = (name: string) =>
  /^radiusUsers\.(get|update|delete)$|^saml\.(metadata|login)$|^oidc\.(login|callback)$/.test(name)

const SNMP_USER = { username: 'another', authPassphrase: 'a passphrase', privacyPassphrase: 'a passphrase' }

function certificateOf(test: Test) {
  const { cert, key } = certificateMaker(test).pair({ name: 'www.test' })
  return { cert, privateKey: key }
}

const ACME_ORDER = { name: 'site', names: ['www.site.test'] }
/** Of a CA that never answers. */
const SILENT_CA = { acme: { run: () => new Promise<never>(() => {}), close: async () => undefined } }

const CHAT = { name: 'chat', type: 'webhook', url: 'https://chat.test/hook' }
const L4_FRONTEND = { name: 'l4 fe', ip: '192.0.2.50', ports: '9000', protocol: 'tcp', forwarding: 'masq' }

/** Applies some records of every section. */
async function populate(call: Caller, node: string, certificate: Readonly<Record<string, string>>) {
  const id = async (path: string, body: unknown) => String((await call('POST', path, { body })).json.data.id)
  const rip = await id('/ipvsDirector/rips', { name: 'web 1', ip: '127.0.0.1', port: 8001 })
  const backend = await id('/layer7proxy/backends', { name: 'be', mode: 'http', reals: [{ ripId: rip }] })
  const frontend = await id('/layer7proxy/frontends', {
    name: 'fe',
    mode: 'http',
    ip: '127.0.0.1',
    ports: '8000',
    defaultBackendId: backend,
  })
  const l4Backend = await id('/ipvsDirector/backends', { name: 'l4 be', reals: [{ ripId: rip }] })
  const l4Spare = await id('/ipvsDirector/backends', { name: 'l4 spare' })
  const l4Frontend = await id('/ipvsDirector/frontends', { ...L4_FRONTEND, backendId: l4Backend })
  const certificateId = await id('/certificates/certs', { name: 'www', ...certificate })
  const list = { name: 'modern', ciphers: ['TLS_AES_128_GCM_SHA256'] }
  const cipherList = String((await call('POST', '/ciphers/lists', { body: list })).json.data.cipherListID)
  const healthCheck = await id('/healthchecks', HEALTH_CHECK)
  const group = await id('/rbac/groups', { id: 'ops', name: 'Ops' })
  const endpoint = (await call('GET', '/rbac/endpoints')).json.data[0].id
  const role = await id('/rbac/roles', { name: 'r', users: [], groups: [group], endpoints: [endpoint] })
  const user = await id('/localUsers/users', {
    email: 'u@localhost',
    firstname: 'U',
    lastname: 'V',
    password: 'a-password',
    disabled: 'false',
    groups: [group],
    roles: [role],
  })
  const ipGroup = await id('/ipgroups', { name: 'lan', networkIp: '192.0.2.0', networkMask: 24 })
  const subnet = await id('/ipgroups', { name: 'dmz', networkIp: '198.51.100.0', networkMask: 25 })
  const staticIp = await id(`/${node}/sips`, { groupId: subnet, ip: '198.51.100.10' })
  const floatingIp = await id('/fips', { groupId: subnet, ip: '198.51.100.20' })
  const ipRoute = await id(`/${node}/routes`, { name: 'r', type: 'blackhole', destination: '203.0.113.0/24' })
  await call('POST', '/snmp/users', { body: { ...SNMP_USER, username: 'watcher' } })
  const snmpUser = String((await call('GET', '/snmp/users')).json.data[0].id)
  const ca = { name: 'ca', directoryUrl: 'https://ca.test/directory', termsAgreed: true, httpPort: 8000 }
  const acmeAccount = await id('/certificates/acme/accounts', ca)
  const acmeSpare = await id('/certificates/acme/accounts', { ...ca, name: 'spare ca' })
  const acmeOrder = await id('/certificates/acme/orders', { ...ACME_ORDER, accountId: acmeAccount })
  const alertTarget = await id('/alerts/targets', CHAT)
  const alertRule = await id('/alerts/rules', { name: 'down', when: { type: 'serverDown' } })
  await call('PUT', '/services/apply')
  const more = { alertTarget, alertRule, certificate: certificateId, cipherList, acmeAccount, acmeSpare, acmeOrder }
  return {
    ...more,
    snmpUser,
    rip,
    healthCheck,
    backend,
    frontend,
    l4Backend,
    l4Spare,
    l4Frontend,
    group,
    role,
    user,
    ipGroup,
    subnet,
    staticIp,
    floatingIp,
    ipRoute,
  }
}

t.test('every GET answers 200 with data that fits its schema, reveals no secret and changes nothing', async (test) => {
  const { call, node, state, machine } = await applianceFixture(test, {}, SILENT_CA)
  const made = await populate(call, node, certificateOf(test))
  machine.host.takeJournal()
  const before = await settled(join(state, 'config'), call)
  const ids: Readonly<Record<string, string>> = {
    localUsers: made.user,
    groups: made.group,
    roles: made.role,
    realServers: made.rip,
    healthChecks: made.healthCheck,
    l4Frontends: made.l4Frontend,
    l4Backends: made.l4Backend,
    stickTables: made.l4Frontend,
    l7Frontends: made.frontend,
    l7Backends: made.backend,
    certificates: made.certificate,
    cipherLists: made.cipherList,
    acmeAccounts: made.acmeAccount,
    acmeOrders: made.acmeOrder,
    alertTargets: made.alertTarget,
    alertRules: made.alertRule,
    ipGroups: made.ipGroup,
    staticIps: made.staticIp,
    floatingIps: made.floatingIp,
    ipRoutes: made.ipRoute,
    snmpUsers: made.snmpUser,
  }
  const figures: Readonly<Record<string, string>> = {
    backend: made.backend,
    backendRips: made.backend,
    frontend: made.frontend,
    rip: made.rip,
    backends: made.backend,
    frontends: made.frontend,
    rips: made.rip,
  }
  const layer4: Readonly<Record<string, string>> = {
    ...figures,
    backend: made.l4Backend,
    backendRips: made.l4Backend,
    frontend: made.l4Frontend,
    backends: made.l4Backend,
    frontends: made.l4Frontend,
  }
  // Nothing here has started a job; test/src/resources/jobs.test.ts reads one.
  const asked = endpoints.filter(
    ({ method, name, reveals }) => method === 'GET' && name !== 'jobs.get' && !madeAtLogin(name) && !reveals,
  )
  for (const endpoint of asked) {
    const title = `GET ${endpoint.path}`
    const [resource = '', verb = ''] = endpoint.name.split('.')
    const isFigure = isHistory(endpoint.name) || /^l[47]Stats$/.test(resource)
    const id = isFigure ? (resource.startsWith('l4') ? layer4 : figures)[verb] : ids[resource]
    const several = endpoint.path.endsWith('s/history') ? `&ids=${id}` : ''
    const query = isHistory(endpoint.name) ? `?start=1790000000&end=1790000060${several}` : ''
    const answer = await call(
      'GET',
      `${concrete(endpoint, node, { id: id ?? '', file: 'start.js', service: 'layer-7', a: '1', b: '2' })}${query}`,
    )
    test.equal(answer.status, 200, title)
    test.notMatch(answer.text, SECRET, title)
    if (endpoint.data === undefined || Reflect.get(endpoint.data, '~kind') === 'Void') continue
    test.match(answer.json, { status: 'success', message: String }, title)
    const errors = [...Compile(endpoint.data).Errors(answer.json.data)]
    test.same(errors, [], title)
  }
  test.same(machine.host.journal, [], 'no command reached the machine')
  test.same(snapshot(join(state, 'config'), ['lock.mdb']), before, 'the configuration is byte-identical')
})

t.test('a staging endpoint touches nothing but the candidate', async (test) => {
  const { call, node, machine } = await applianceFixture(test, {}, SILENT_CA)
  const made = await populate(call, node, certificateOf(test))
  machine.host.takeJournal()
  const bodies: Readonly<Record<string, unknown>> = {
    'localUsers.create': {
      email: 'x@localhost',
      firstname: 'X',
      lastname: 'Y',
      password: 'a-password',
      disabled: 'true',
    },
    'groups.create': { id: '', name: 'another' },
    'groups.update': { name: 'renamed' },
    'roles.create': { name: 'another', users: [], groups: [], endpoints: [] },
    'realServers.create': { name: 'web 2', ip: '::1', port: null },
    'realServers.update': { port: 8002, weight: 7 },
    'healthChecks.create': { ...HEALTH_CHECK, name: 'another' },
    'healthChecks.update': { ...HEALTH_CHECK, description: 'changed' },
    'l4Frontends.create': { ...L4_FRONTEND, name: 'l4 fe 2', ip: '192.0.2.51', backendId: made.l4Spare },
    'l4Backends.create': { name: 'l4 be 2' },
    'l7Frontends.create': { name: 'fe 2', mode: 'tcp', ip: '127.0.0.1', ports: '8100-8110' },
    'l7Backends.create': { name: 'be 2', mode: 'tcp' },
    'certificates.create': { name: 'another', ...certificateOf(test) },
    'certificates.update': certificateOf(test),
    'cipherLists.create': { name: 'another', ciphers: ['TLS_AES_256_GCM_SHA384'] },
    'cipherLists.update': { ciphers: ['TLS_AES_256_GCM_SHA384'] },
    'acmeAccounts.create': { name: 'another', directoryUrl: 'https://ca.test/directory', termsAgreed: true },
    'acmeOrders.update': { name: 'renamed site' },
    'acmeOrders.create': { name: 'another site', names: ['another.test'], accountId: made.acmeSpare },
    'alertTargets.create': { ...CHAT, name: 'another chat' },
    'alertTargets.update': { template: 'slack' },
    'alertRules.create': { name: 'full', when: { type: 'disk' } },
    'alertRules.update': { severity: 'critical' },
    'loginPolicy.update': { twoFactorRequired: true },
    'conntrack.update': { size: 100_000 },
    'systemProxy.update': { enable: false },
    'snmp.update': { serviceIpId: '', location: 'Rack 7' },
    'snmpUsers.create': SNMP_USER,
    'snmpUsers.update': { writeAccess: true },
    'dateTime.ntp': { ntpEnabled: true },
    'dateTime.timezone': { zone: 'Europe/Paris' },
    'ipGroups.create': { name: 'another' },
    'ipGroups.update': { name: 'renamed' },
    'staticIps.create': { groupId: made.subnet, ip: '198.51.100.11' },
    'staticIps.update': { groupId: made.subnet, ip: '198.51.100.12' },
    'floatingIps.create': { groupId: made.subnet, ip: '198.51.100.21' },
    'floatingIps.update': { groupId: made.subnet, ip: '198.51.100.22' },
    'ipRoutes.create': { name: 'another', type: 'default', interface: 'eth0' },
    'ipRoutes.update': { name: 'renamed', type: 'policy', source: '198.51.100.0/25', interface: 'eth1' },
  }
  const queries: Readonly<Record<string, string>> = { 'staticIps.delete': '?ip=198.51.100.12' }
  const ids: Readonly<Record<string, string>> = {
    localUsers: made.user,
    groups: made.group,
    roles: made.role,
    realServers: made.rip,
    healthChecks: made.healthCheck,
    l4Frontends: made.l4Frontend,
    l4Backends: made.l4Backend,
    l7Frontends: made.frontend,
    l7Backends: made.backend,
    certificates: made.certificate,
    cipherLists: made.cipherList,
    acmeAccounts: made.acmeAccount,
    acmeOrders: made.acmeOrder,
    alertTargets: made.alertTarget,
    alertRules: made.alertRule,
    ipGroups: made.ipGroup,
    staticIps: made.staticIp,
    floatingIps: made.floatingIp,
    ipRoutes: made.ipRoute,
    snmpUsers: made.snmpUser,
  }
  // Records that the reverse of the revision deletes are brought back by its restore.
  const first = ['revisions.revert', 'revisions.restore']
  const order = (endpoint: Endpoint) =>
    first.includes(endpoint.name)
      ? first.indexOf(endpoint.name) - first.length
      : endpoint.method === 'DELETE'
        ? /^(realServers|groups)\.delete$/.test(endpoint.name)
          ? 2
          : 1
        : 0
  const frontendsFirst = (endpoint: Endpoint) => (/^l[47]Frontends\.delete$/.test(endpoint.name) ? 0 : 1)
  const staging = endpoints
    .filter(
      (endpoint) =>
        endpoint.effect === 'stage' &&
        !endpoint.name.startsWith('services.') &&
        !endpoint.name.startsWith('backups.') &&
        !madeAtLogin(endpoint.name),
    )
    .sort((a, b) => order(a) - order(b) || frontendsFirst(a) - frontendsFirst(b))
  for (const endpoint of staging) {
    const [resource = ''] = endpoint.name.split('.')
    const body = bodies[endpoint.name]
    const answer = await call(
      endpoint.method,
      `${concrete(endpoint, node, { id: ids[resource] ?? '', n: '2' })}${queries[endpoint.name] ?? ''}`,
      body === undefined ? {} : { body },
    )
    const title = `${endpoint.method} ${endpoint.path}`
    test.equal(answer.status, endpoint.status, `${title}: ${answer.text}`)
    test.equal(answer.status === 201, endpoint.method === 'POST', title)
    test.same(machine.host.journal, [], title)
  }
  test.ok((await call('GET', '/services/pending')).json.data.count > 0)
  test.equal((await call('DELETE', '/services/pending')).status, 200)
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
  test.same(machine.host.journal, [])
})

t.test('each default role is granted and refused exactly what its rule says, on every endpoint', async (test) => {
  const { call, anonymous, login, node } = await applianceFixture(test)
  const users = DEFAULT_ROLES.map((role) => ({ role, email: `${role.name.toLowerCase()}@localhost` }))
  for (const { role, email } of users) {
    const body = { email, firstname: 'A', lastname: 'B', password: 'a-password', disabled: 'false', roles: [role.id] }
    test.equal((await call('POST', '/localUsers/users', { body })).status, 201)
  }
  await call('PUT', '/services/apply')
  for (const { role, email } of users) {
    const token = await login(email, 'a-password')
    for (const endpoint of endpoints) {
      if (endpoint.access !== 'granted') continue
      // A broken body: an admitted caller gets 400 and changes nothing.
      const sent = endpoint.method === 'GET' ? { token } : { token, raw: '{' }
      const { json, status } = await anonymous(endpoint.method, concrete(endpoint, node), sent)
      const title = `${role.name}: ${endpoint.method} ${endpoint.path}`
      test.equal(status === 403 && json.code === 'PERMISSION_DENIED', !role.grants(endpoint), title)
    }
  }
})

t.test('the OpenAPI document describes every endpoint', async (test) => {
  const { anonymous } = await applianceFixture(test)
  const document = (await anonymous('GET', '/openapi.json')).json
  test.same(document, JSON.parse(JSON.stringify(openapiDocument(endpoints, document.info.version))))
  for (const endpoint of endpoints) {
    const operation = document.paths[documentedPath(endpoint)]?.[endpoint.method.toLowerCase()]
    test.match(operation, { operationId: endpoint.name, 'x-staged': endpoint.staged, 'x-effect': endpoint.effect })
    test.equal(operation['x-extension'] === true, endpoint.extension)
  }
})
