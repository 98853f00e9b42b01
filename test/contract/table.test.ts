import { readFileSync } from 'node:fs'
import t from 'tap'
import { endpointId } from '../../src/api/access.ts'
import { followsTransaction } from '../../src/api/in-transactions.ts'
import { SECTION_NAMES, SECTIONS } from '../../src/model/sections.ts'
import { ANSWER_HEADERS, REQUEST_HEADERS } from '../../src/peers/carried.ts'
import { endpoints } from '../../src/resources/index.ts'
import { tableFaults } from '../fixtures/table-faults.ts'

interface Operation {
  readonly area: string
  readonly method: string
  readonly path: string
  readonly auth: 'none' | 'bearer'
  readonly staged: boolean
  readonly effect: string
}

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')
const operations: readonly Operation[] = JSON.parse(read('../fixtures/operations.json'))

/** The areas of this version, with the number of their operations in the contract. */
const DELIVERED: Readonly<Record<string, number>> = {
  'Authentication and health': 5,
  'Users, groups, roles': 12,
  'Certificates and ciphers': 9,
  'Real servers': 9,
  'Health checks': 6,
  'Stick tables': 3,
  Services: 9,
  'User interface': 2,
  'Connection tracking': 2,
  'System proxy': 2,
  'Date and time': 5,
  Routes: 5,
  'Static IPs, IP groups': 11,
  RADIUS: 7,
  SNMP: 6,
  'Backup and restore': 8,
  'Software updates': 5,
  'LVM snapshots': 4,
  Power: 2,
  'Layer 4 statistics': 8,
  'Layer 7 statistics': 4,
  'Historical statistics (Layer 7)': 4,
}

function areaOf(operation: Operation): string {
  if (operation.path.startsWith('/ipvsDirector/sticktable')) return 'Stick tables'
  if (operation.path.startsWith('/ipvsDirector/rips')) return 'Real servers'
  if (operation.path.startsWith('/healthchecks')) return 'Health checks'
  if (operation.path.startsWith('/ipvsDirector/stats')) return 'Layer 4 statistics'
  if (operation.path.includes('/layer7proxy/stats') && !operation.path.endsWith('/history')) return 'Layer 7 statistics'
  if (operation.path.endsWith('/system/userinterface')) return 'User interface'
  if (operation.path.endsWith('/system/conntrack')) return 'Connection tracking'
  if (operation.path.endsWith('/system/proxy')) return 'System proxy'
  if (operation.path.includes('/system/datetime')) return 'Date and time'
  if (operation.path.includes('/system/update')) return 'Software updates'
  if (operation.path.endsWith('/lvmsnapshots')) return 'LVM snapshots'
  if (/\/system\/(halt|reboot)$/.test(operation.path)) return 'Power'
  if (operation.path.startsWith('/radius')) return 'RADIUS'
  if (operation.path.startsWith('/snmp')) return 'SNMP'
  if (operation.path.includes('/routes')) return 'Routes'
  return operation.area
}

const line = (entry: { method: string; path: string; staged: boolean; effect: string; access: string }) =>
  `${entry.method} ${entry.path} staged=${entry.staged} effect=${entry.effect} ${entry.access}`

t.test('the table equals the contract for the areas delivered, and adds only extensions', async (test) => {
  const wanted = operations.filter((operation) => areaOf(operation) in DELIVERED)
  const counts: Record<string, number> = {}
  for (const operation of wanted) counts[areaOf(operation)] = (counts[areaOf(operation)] ?? 0) + 1
  test.same(counts, DELIVERED)
  const lines = wanted.map((operation) => line({ ...operation, access: operation.auth === 'none' ? 'open' : 'closed' }))
  const built = endpoints
    .filter((endpoint) => !endpoint.extension)
    .map((endpoint) => line({ ...endpoint, access: endpoint.access === 'public' ? 'open' : 'closed' }))
  test.same(built.sort(), lines.sort())
})

/** Endpoints for the pending changes of all users: an edit inside a transaction is none of them. */
const OUTSIDE_TRANSACTIONS = [
  'backups.restore',
  'config.applyPlan',
  'config.import',
  'config.plan',
  'services.apply',
  'services.applyOnNode',
  'services.confirm',
  'services.discard',
  'services.discardAll',
  'services.pending',
  'services.revertApply',
  'services.validate',
]

t.test('endpoints that are refused inside a transaction', async (test) => {
  const outside = endpoints.filter(({ outsideTransactions }) => outsideTransactions)
  test.same(outside.map(({ name }) => name).toSorted(), OUTSIDE_TRANSACTIONS)
})

/**
 * Fields that the daemon fills in itself: the path names the node, a group is given roles elsewhere, keys are derived.
 */
const MADE_HERE: Readonly<Record<string, readonly string[]>> = {
  groups: ['roles'],
  roles: ['id', 'builtin', 'confined'],
  staticIps: ['id', 'nodeId'],
  ipRoutes: ['id', 'nodeId'],
  certificates: ['id', 'chain', 'facts'],
  acmeAccounts: ['id', 'privateKey'],
  acmeOrders: ['id', 'progress'],
  snmpUsers: ['id', 'authKey', 'privacyKey'],
}

t.test('every field of a record can be sent at its creation', async (test) => {
  for (const section of SECTION_NAMES) {
    const create = endpoints.find(({ name }) => name === `${section}.create`)
    if (create === undefined) continue
    const sent = new Set(Object.keys(Reflect.get(create.body ?? {}, 'properties') ?? {}))
    const unsent = Object.keys(SECTIONS[section].schema.properties).filter((field) => !sent.has(field))
    test.same(unsent, MADE_HERE[section] ?? ['id'], section)
  }
})

/** decisions.md §1: marked as staged in the specification, but they act at once. */
const STAGED_BUT_ACTING = [
  'DELETE /backup',
  'DELETE /backup/auto',
  'DELETE /backup/uploads',
  'DELETE /backup/{filename}',
  'DELETE /ipvsDirector/sticktable/{id}',
  'DELETE /ipvsDirector/sticktable/{id}/{key}',
  'DELETE /{applianceId}/lvmsnapshots',
  'POST /backup/upload',
  'POST /login/options',
  'POST /radius/config/test',
  'POST /token',
  'POST /{applianceId}/lvmsnapshots',
  'POST /{applianceId}/system/update',
  'PUT /services/{service}/update',
  'PUT /{applianceId}/lvmsnapshots',
  'PUT /{applianceId}/services/{service}/update',
  'PUT /{applianceId}/system/datetime',
  'PUT /{applianceId}/system/halt',
  'PUT /{applianceId}/system/reboot',
  'PUT /{applianceId}/system/update',
  'PUT /{applianceId}/system/update/majorversion',
]

t.test('endpoints marked as staged stage, except the list that acts', async (test) => {
  const acting = endpoints.filter((endpoint) => endpoint.staged && endpoint.effect === 'act')
  test.same(acting.map(({ method, path }) => `${method} ${path}`).sort(), STAGED_BUT_ACTING)
  test.ok(
    endpoints.every((endpoint) => !endpoint.staged || ['stage', 'act', 'stage-and-act'].includes(endpoint.effect)),
  )
})

t.test('the table has no faults that the compiler cannot see', async (test) => {
  test.same(tableFaults(endpoints), [])
})

t.test('the headers of forwarded answers are carried there and back', async (test) => {
  const carried = new Set<string>([...REQUEST_HEADERS, ...ANSWER_HEADERS])
  const isAnsweredHere = (endpoint: (typeof endpoints)[number]) =>
    !endpoint.path.startsWith('/{applianceId}') &&
    endpoint.ofNodes === undefined &&
    endpoint.transactionIn === undefined &&
    !followsTransaction(endpoint)
  const left = endpoints.filter(({ headers, sends }) =>
    [...headers, ...sends].some((name) => !carried.has(name.toLowerCase())),
  )
  // Cookies of single sign-on: none of its paths names a node, and no transaction is open by then.
  test.same(
    left.map(({ name }) => name),
    'auth.refresh auth.resume auth.logout saml.login saml.acs saml.token oidc.login oidc.callback oidc.token'.split(
      ' ',
    ),
  )
  test.same(
    left.filter((endpoint) => !isAnsweredHere(endpoint)),
    [],
  )
})

t.test('docs/endpoints.md lists every endpoint (npm run docs writes it)', async (test) => {
  const listed = read('../../docs/endpoints.md')
  for (const endpoint of endpoints) {
    const row = `| ${endpoint.method} | \`${endpoint.path}\` | ${endpoint.effect} | ${endpoint.access} | ${endpoint.summary} |`
    test.ok(listed.includes(row), row)
  }
  test.equal(listed.match(/^\| (GET|POST|PUT|DELETE) /gm)?.length, endpoints.length)
})

t.test('endpoint ids are unique and stable', async (test) => {
  test.equal(new Set(endpoints.map(endpointId)).size, endpoints.length)
  test.equal(endpointId({ method: 'GET', path: '/ping' }), '7459d3d3-b649-55ce-9c1e-aff22f4f3b8a')
})

t.test('the answer to a staged deletion says that it takes effect with apply', (test) => {
  const deletions = endpoints.filter(
    ({ method, effect, path }) => method === 'DELETE' && effect === 'stage' && path.endsWith('{id}'),
  )
  test.ok(deletions.length > 15)
  for (const { name, message } of deletions) test.match(message, / \{id\} will be deleted with apply$/, name)
  test.end()
})
