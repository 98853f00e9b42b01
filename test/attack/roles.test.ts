import t, { type Test } from 'tap'
import { applianceFixture, type Caller } from '../fixtures/appliance.ts'
import { concrete, createUser, endpoints, PASSWORD, roleIds } from './attack-fixture.ts'

const ROLES = ['Administrator', 'Manager', 'Operator', 'Certificates', 'Backup', 'Monitoring', 'Auditor'] as const
type RoleName = (typeof ROLES)[number] | 'nothing'

const WHO_STAGES = 'Administrator Manager Operator Certificates Backup'

/**
 * Written by hand, and not derived from the daemon's rules: critical endpoints, and the only roles that may use them.
 */
const CRITICAL: readonly (readonly [who: string, ...endpoints: readonly string[]])[] = [
  ['Administrator Backup', 'GET /backup', 'POST /backup/upload', 'POST /backup/restore', 'DELETE /backup'],
  ['Administrator Backup', 'DELETE /backup/auto', 'DELETE /backup/uploads', 'DELETE /backup/{filename}'],
  // A certificate manager replaces keys, and reads them.
  ['Administrator Manager Certificates', 'GET /certificates/certs/{id}'],
  ['Administrator Auditor', 'GET /audit'],
  ['Administrator', 'POST /localUsers/users', 'PUT /localUsers/users/{id}', 'DELETE /localUsers/users/{id}'],
  ['Administrator', 'DELETE /localUsers/users/{id}/2fa', 'DELETE /localUsers/sessions/{id}'],
  ['Administrator', 'DELETE /localUsers/tokens/{id}'],
  ['Administrator', 'POST /rbac/groups', 'PUT /rbac/groups/{id}', 'DELETE /rbac/groups/{id}'],
  ['Administrator', 'POST /rbac/roles', 'PUT /rbac/roles/{id}', 'DELETE /rbac/roles/{id}'],
  ['Administrator', 'PUT /radius/config', 'POST /radius/config/test'],
  ['Administrator', 'PUT /radius/users/{id}', 'DELETE /radius/users/{id}'],
  ['Administrator', 'PUT /saml/config', 'PUT /oidc/config', 'PUT /login/policy', 'PUT /revisions/{n}/restore'],
  ['Administrator', 'POST /{applianceId}/system/update', 'PUT /{applianceId}/lvmsnapshots', 'PUT /layer7proxy/raw'],
  ['Administrator Manager', 'PUT /{applianceId}/system/update', 'PUT /{applianceId}/system/update/majorversion'],
  // A node brings its users along, and a cluster gives its own to every joining node.
  ['Administrator', 'POST /cluster', 'PUT /cluster', 'POST /cluster/tokens', 'POST /cluster/join'],
  ['Administrator', 'PUT /cluster/nodes/{applianceId}', 'DELETE /cluster/nodes/{applianceId}'],
  ['Administrator', 'PUT /cluster/takeover', 'PUT /cluster/resolve'],
  ['Administrator Manager', 'PUT /cluster/nodes/{applianceId}/maintenance'],
  ['Administrator Manager', 'PUT /{applianceId}/system/halt', 'PUT /{applianceId}/system/reboot'],
  ['Administrator Manager', 'POST /{applianceId}/lvmsnapshots', 'DELETE /{applianceId}/lvmsnapshots'],
  ['Administrator Manager', 'PUT /{applianceId}/system/userinterface', 'PUT /{applianceId}/system/proxy'],
  ['Administrator Manager', 'PUT /snmp', 'POST /snmp/users', 'PUT /snmp/users/{id}', 'DELETE /snmp/users/{id}'],
  ['Administrator Manager', 'POST /healthchecks', 'PUT /healthchecks/{id}', 'POST /healthchecks/{id}/test'],
  ['Administrator Manager Certificates', 'POST /certificates/certs', 'PUT /certificates/certs/{id}'],
  ['Administrator Manager Certificates', 'DELETE /certificates/certs/{id}'],
  // Each of these checks the changes as well.
  [WHO_STAGES, 'PUT /services/apply', 'PUT /{applianceId}/services/apply'],
  [WHO_STAGES, 'PUT /services/apply/confirm', 'PUT /services/apply/revert'],
  [WHO_STAGES, 'DELETE /services/pending', 'DELETE /services/pending/{changeId}'],
  ['Administrator Manager', 'PUT /revisions/{n}/revert'],
  ['Administrator Manager', 'POST /transactions', 'PUT /transactions/{id}/commit', 'PUT /transactions/{id}/rollback'],
]
const allowed = new Map(CRITICAL.flatMap(([who, ...list]) => list.map((key) => [key, new Set(who.split(' '))])))

/** Endpoints that are critical wherever they appear: a new one of this kind has to be added to the table first. */
const IS_CRITICAL =
  /^(?!GET |DELETE \/healthchecks)\w+ (\/healthchecks|\/localUsers\/(?!me)|\/rbac|\/radius|\/saml\/config|\/oidc\/config|\/login\/policy|\/backup|\/revisions|\/audit|\/snmp|\/cluster|\/layer7proxy\/raw|\/\{applianceI[dD]\}\/(lvmsnapshots|system\/(halt|reboot|update|userinterface|proxy)))/

const granted = endpoints.filter(({ access }) => access === 'granted')
const keyOf = ({ method, path }: { readonly method: string; readonly path: string }) => `${method} ${path}`

/** Pending changes, and the current apply. */
const PENDING = /^\/services\/(pending|apply)$/

/** Returns whether a role may use an endpoint that the table does not mention. */
function mayAtMost(role: RoleName, { method, path }: { readonly method: string; readonly path: string }): boolean {
  const isRead = method === 'GET'
  switch (role) {
    case 'Administrator':
    case 'Manager':
      return true
    case 'Operator':
      return (
        isRead ||
        /^\/ipvsDirector\/(sticktable\/|rips\/\{id\}\/(drain|halt|online)$)|\/services\/\{service\}\/reload$/.test(path)
      )
    case 'Certificates':
      return /^\/(certificates|ciphers)(\/|$)/.test(path) || (isRead && PENDING.test(path))
    case 'Backup':
      return /^\/backup(\/|$)/.test(path) || (isRead && (path.startsWith('/jobs') || PENDING.test(path)))
    case 'Monitoring':
      return isRead && /\/stats(\/|$)|^\/metrics|^\/services$/.test(path)
    case 'Auditor':
      return isRead
    default:
      return false
  }
}

interface Person {
  readonly role: RoleName
  readonly session: string
  readonly program: string
}

async function people(test: Test) {
  const { call, anonymous, login, node } = await applianceFixture(test)
  const roles = await roleIds(call)
  test.same(Object.keys(roles).toSorted(), [...ROLES].toSorted(), 'these are the existing roles')
  const names: readonly RoleName[] = [...ROLES, 'nothing']
  for (const name of names) await createUser(call, `${name}@localhost`, name === 'nothing' ? [] : [roles[name] ?? ''])
  await call('PUT', '/services/apply')
  const all: Person[] = []
  for (const role of names) {
    const session = await login(`${role}@localhost`, PASSWORD)
    const made = await anonymous('POST', '/localUsers/me/tokens', { token: session, body: { name: 'a program' } })
    all.push({ role, session, program: String(made.json.data.token) })
  }
  return { call, anonymous, login, node, all }
}

/** Sends a broken body: an admitted caller changes nothing. */
async function isLetIn(
  call: Caller,
  endpoint: { readonly method: string; readonly path: string },
  node: string,
  token: string,
) {
  const { method, path } = endpoint
  // An admitted caller must not wait for a stream that never ends.
  const query = path === '/events' ? '?unheard-of=1' : ''
  const { status } = await call(method, `${concrete(path, node)}${query}`, {
    token,
    ...(method === 'GET' ? {} : { raw: '{' }),
  })
  if (status === 401) throw new Error('the token counts no more')
  return status !== 403
}

t.test('roles: the table of critical endpoints names existing ones, and all of them', async (test) => {
  const known = new Set(endpoints.map(keyOf))
  test.same(
    [...allowed.keys()].filter((key) => !known.has(key)),
    [],
  )
  const critical = granted.map(keyOf).filter((key) => IS_CRITICAL.test(key))
  test.ok(critical.length > 30)
  test.same(
    critical.filter((key) => !allowed.has(key)),
    [],
    'to be added to the table',
  )
  const revealing = endpoints.filter(({ reveals }) => reveals).map(keyOf)
  test.same(
    revealing.filter((key) => !allowed.has(key)),
    [],
    'endpoints that reveal secrets are in the table',
  )
})

t.test('roles: every endpoint with every default role, and with an API token of each', async (test) => {
  const { anonymous, node, all } = await people(test)
  for (const { role, session, program } of all) {
    const wrong: string[] = []
    for (const endpoint of granted) {
      const key = keyOf(endpoint)
      const [bySession, byProgram] = await Promise.all([
        isLetIn(anonymous, endpoint, node, session),
        isLetIn(anonymous, endpoint, node, program),
      ])
      if (bySession !== byProgram) wrong.push(`the API token differs: ${key}`)
      const expected = allowed.get(key)?.has(role)
      if (expected !== undefined && expected !== bySession) wrong.push(`${expected ? 'refused' : 'let in'}: ${key}`)
      if (expected === undefined && bySession && !mayAtMost(role, endpoint)) wrong.push(`let in: ${key}`)
    }
    test.same(wrong, [], role)
  }
})

t.test('roles: a session that lacks its second factor may only manage its own account', async (test) => {
  const { call, anonymous, login, node } = await applianceFixture(test)
  await call('PUT', '/login/policy', { body: { twoFactorRequired: true } })
  await call('PUT', '/services/apply')
  const token = await login('admin@localhost', 'correct horse battery')
  const made = await anonymous('POST', '/localUsers/me/tokens', { token, body: { name: 'a way around' } })
  test.equal(made.status, 403, 'an API token is no way around it')
  const fresh = (await anonymous('GET', '/token', { token })).json.data.token
  test.equal((await anonymous('GET', '/services', { token: fresh })).status, 403, 'nor is a refreshed token')
  const letIn: string[] = []
  for (const endpoint of granted) if (await isLetIn(anonymous, endpoint, node, token)) letIn.push(keyOf(endpoint))
  test.same(letIn, [], 'an administrator without the second factor')
})

t.test('roles: a user without a right learns nothing from the order of refusals', async (test) => {
  const { anonymous, node, all } = await people(test)
  const token = all.find(({ role }) => role === 'nothing')?.session ?? ''
  for (const endpoint of granted) {
    const { method, path } = endpoint
    const raw = method === 'GET' ? '' : '{"a":'
    const texts = await Promise.all(
      ['unknown-1', '00000000-0000-4000-8000-000000000000', '%2e%2e'].map(
        async (value) => (await anonymous(method, concrete(path, node, value), { token, raw })).status,
      ),
    )
    test.same(texts, [403, 403, 403], keyOf(endpoint))
  }
})
