import t from 'tap'
import { SECTION_NAMES, SECTIONS } from '../../../src/model/sections.ts'
import { backend, frontend, realServer, user } from '../../fixtures/config.ts'

t.test('every section can be shown: label, schema with an id, and a name', async (test) => {
  test.same(SECTION_NAMES, [
    'users',
    'groups',
    'roles',
    'realServers',
    'healthChecks',
    'l4Frontends',
    'l4Backends',
    'l7Frontends',
    'l7Backends',
    'l7Raw',
    'syslogServers',
    'ipGroups',
    'staticIps',
    'floatingIps',
    'ipRoutes',
    'conntrackLimits',
    'conntrackTimeouts',
    'systemProxies',
    'userInterfaces',
    'clocks',
    'nodeIdentities',
    'certificates',
    'cipherLists',
    'acmeAccounts',
    'acmeOrders',
    'snmpSettings',
    'snmpUsers',
    'radiusConfigs',
    'radiusUsers',
    'samlConfigs',
    'oidcConfigs',
    'loginPolicies',
    'alertTargets',
    'alertRules',
  ])
  for (const name of SECTION_NAMES) {
    const { label, schema, nameField } = SECTIONS[name]
    test.ok(label.length > 0, name)
    test.ok('id' in schema.properties && nameField in schema.properties, name)
    test.ok([...(schema.required ?? [])].includes(nameField), `${name}: ${nameField} is never missing`)
  }
})

t.test('a field that reads like a secret is one', async (test) => {
  for (const name of SECTION_NAMES) {
    const { schema, secrets } = SECTIONS[name]
    const fields: readonly string[] = Object.keys(schema.properties)
    for (const field of fields.filter((candidate) => /password|secret|key\b|Key$|hash|community/i.test(candidate))) {
      test.ok(
        [...secrets].some((secret) => secret === field),
        `${name}.${field}`,
      )
    }
    for (const secret of secrets) test.ok(fields.includes(secret), `${name}.${secret} exists`)
  }
  test.same(SECTIONS.users.secrets, ['passwordHash', 'secondFactor'])
})

t.test('references carry the field that holds them', async (test) => {
  const { users, groups, roles, realServers, l7Frontends, l7Backends } = SECTIONS
  test.same(users.references(user('u', { groups: ['g'], roles: ['r', 's'] })), [
    { field: 'groups.0', section: 'groups', id: 'g' },
    { field: 'roles.0', section: 'roles', id: 'r' },
    { field: 'roles.1', section: 'roles', id: 's' },
  ])
  test.same(groups.references({ id: 'g', name: 'g', roles: ['r'] }), [{ field: 'roles.0', section: 'roles', id: 'r' }])
  test.same(l7Backends.references(backend('b', ['a', 'c'])), [
    { field: 'reals.0.ripId', section: 'realServers', id: 'a' },
    { field: 'reals.1.ripId', section: 'realServers', id: 'c' },
  ])
  test.same(l7Frontends.references(frontend('f', 'b')), [{ field: 'defaultBackendId', section: 'l7Backends', id: 'b' }])
  test.same(l7Frontends.references(frontend('f', null)), [])
  test.same(realServers.references(realServer('a')), [])
  test.same(roles.references({ id: 'r', name: 'r', builtin: false, endpoints: ['x'] }), [], 'endpoints are no records')
})
