import { Type } from 'typebox'
import { endpoints } from '../../../src/resources/index.ts'
import t from 'tap'
import { ADMINISTRATOR, catalogOf, DEFAULT_ROLES, endpointId, grantedEndpoints } from '../../../src/api/access.ts'
import { type Endpoint, endpoint, type Method } from '../../../src/api/endpoint.ts'
import type { Effect } from '../../../src/context/context.ts'

interface Traits {
  readonly effect?: Effect
  readonly reveals?: true
  readonly name?: string
}

function made(method: Method, path: string, { effect = 'stage', reveals, name }: Traits = {}): Endpoint {
  const more = reveals === undefined ? {} : { reveals }
  const title = name ?? `${method} ${path}`
  const texts = { summary: `summary of ${title}`, message: 'm' }
  return endpoint({
    name: title,
    method,
    path,
    effect,
    staged: false,
    ...texts,
    ...more,
    data: Type.Unknown(),
    handle: () => 1,
  })
}

function grants(role: string, candidate: Endpoint): boolean {
  const rule = DEFAULT_ROLES.find(({ name }) => name === role)
  if (rule === undefined) throw new Error(`there is no default role ${role}`)
  return rule.grants(candidate)
}

t.test('an endpoint id depends on method and path alone', async (test) => {
  const id = endpointId({ method: 'PUT', path: '/things/{id}' })
  test.equal(endpointId(made('PUT', '/things/{id}', { name: 'renamed', effect: 'act' })), id)
  test.not(endpointId({ method: 'DELETE', path: '/things/{id}' }), id)
  test.not(endpointId({ method: 'PUT', path: '/things/{key}' }), id)
})

t.test('ids of default roles are the same in every installation', async (test) => {
  test.equal(ADMINISTRATOR.id, DEFAULT_ROLES[0]?.id)
  test.equal(new Set(DEFAULT_ROLES.map(({ id }) => id)).size, DEFAULT_ROLES.length)
  test.match(ADMINISTRATOR.id, /^[0-9a-f]{8}-[0-9a-f]{4}-5/, 'derived from the name')
})

t.test('endpoints that reveal a secret are in no role that only reads', async (test) => {
  const download = made('GET', '/system/key', { effect: 'read', reveals: true })
  for (const role of ['Operator', 'Monitoring', 'Auditor']) test.notOk(grants(role, download), role)
  test.ok(grants('Administrator', download))
  test.notOk(grants('Monitoring', made('GET', '/x/stats', { effect: 'read', reveals: true })))
})

t.test('a prefix is a whole segment of the path', async (test) => {
  test.ok(grants('Backup', made('PUT', '/backup')))
  test.ok(grants('Backup', made('PUT', '/backup/{id}/restore')))
  test.notOk(grants('Backup', made('PUT', '/backups')))
  test.notOk(grants('Backup', made('PUT', '/x/backup')))
  test.ok(grants('Certificates', made('DELETE', '/certificates/{id}')))
  test.ok(grants('Certificates', made('POST', '/ciphers')))
  test.notOk(grants('Manager', made('POST', '/rbac/roles')))
  test.ok(grants('Manager', made('POST', '/rbacks')))
})

t.test('Manager reads users, rights and backups but does not change them', async (test) => {
  for (const path of ['/localUsers/users', '/rbac/groups', '/backup', '/revisions']) {
    test.ok(grants('Manager', made('GET', path, { effect: 'read' })), path)
    test.notOk(grants('Manager', made('PUT', path)), path)
  }
})

t.test('Manager neither installs his own packages nor reverts the whole system', async (test) => {
  for (const name of ['updates.upload', 'lvmSnapshots.restore', 'l7Raw.update']) {
    test.notOk(grants('Manager', made('PUT', '/{applianceId}/x', { name, effect: 'act' })), name)
    test.ok(
      endpoints.some((known) => known.name === name),
      name,
    )
  }
  test.ok(grants('Manager', made('PUT', '/{applianceId}/x', { name: 'updates.start', effect: 'act' })))
})

t.test('the audit log is for Administrator and Auditor', async (test) => {
  const audit = made('GET', '/audit', { effect: 'read' })
  for (const { name } of DEFAULT_ROLES) {
    test.equal(grants(name, audit), ['Administrator', 'Auditor'].includes(name), name)
  }
})

t.test('Operator clears stick tables, and stages only moves of real servers', async (test) => {
  test.ok(grants('Operator', made('DELETE', '/ipvsDirector/sticktable/{id}', { effect: 'act' })))
  test.notOk(grants('Operator', made('DELETE', '/ipvsDirector/sticktable/{id}', { effect: 'stage' })))
  test.ok(grants('Operator', made('PUT', '/x', { name: 'realServers.halt' })))
  test.notOk(grants('Operator', made('PUT', '/x', { name: 'realServers.update' })))
})

t.test('Monitoring reads figures and services, not the pending changes of others', async (test) => {
  for (const path of ['/{applianceId}/layer7proxy/stats/rips', '/metrics']) {
    test.ok(grants('Monitoring', made('GET', path, { effect: 'read' })), path)
    test.notOk(grants('Monitoring', made('PUT', path, { effect: 'act' })), path)
  }
  test.ok(grants('Monitoring', { ...made('GET', '/services', { effect: 'read' }), name: 'services.list' }))
  test.notOk(grants('Monitoring', made('GET', '/services/pending', { effect: 'read' })))
})

t.test('a stored default role follows the table; another role has its stored rights', async (test) => {
  const table = [made('GET', '/a', { effect: 'read' }), made('PUT', '/a')]
  const [read = '', write = ''] = table.map(endpointId)
  const auditor = DEFAULT_ROLES.find(({ name }) => name === 'Auditor')?.id ?? ''
  test.same([...grantedEndpoints({ id: auditor, builtin: true, endpoints: [write] }, table)], [read])
  test.same([...grantedEndpoints({ id: auditor, builtin: false, endpoints: [write] }, table)], [write])
  test.same(
    [...grantedEndpoints({ id: 'gone', builtin: true, endpoints: [] }, table)],
    [],
    'a default role of another version',
  )
})

t.test('the catalogue is the table in terms of roles', async (test) => {
  const table = [made('GET', '/a', { effect: 'read', name: 'a.list' }), made('PUT', '/a/{id}', { name: 'a.update' })]
  const catalog = catalogOf(table)
  test.same(catalog.list()[1], {
    id: endpointId({ method: 'PUT', path: '/a/{id}' }),
    name: 'a.update',
    method: 'PUT',
    path: '/a/{id}',
    summary: 'summary of a.update',
  })
  test.equal(catalog.grantedBy({ id: ADMINISTRATOR.id, name: 'x', builtin: true, endpoints: [] }).size, 2)
})
