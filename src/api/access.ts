import { nameBasedId } from '../base/ids.ts'
import type { Catalog } from '../context/catalog.ts'
import type { Endpoint } from './endpoint.ts'

/** Returns the id by which roles grant an endpoint: stable across versions as long as method and path are. */
export function endpointId(endpoint: { readonly method: string; readonly path: string }): string {
  return nameBasedId(`${endpoint.method} ${endpoint.path}`)
}

export interface DefaultRole {
  readonly id: string
  readonly name: string
  grants(endpoint: Endpoint): boolean
}

/** Only auditors may see the audit log. */
const reads = (endpoint: Endpoint) => endpoint.method === 'GET' && !endpoint.reveals && !under(endpoint, '/audit')
const under = (endpoint: Endpoint, ...prefixes: readonly string[]) =>
  prefixes.some((prefix) => endpoint.path === prefix || endpoint.path.startsWith(`${prefix}/`))
const named = (endpoint: Endpoint, ...names: readonly string[]) => names.includes(endpoint.name)

function role(name: string, grants: (endpoint: Endpoint) => boolean): DefaultRole {
  return { id: nameBasedId(`role ${name}`), name, grants }
}

export const ADMINISTRATOR = role('Administrator', () => true)

/**
 * With one of these a caller could grant rights to anybody, by restoring users and roles that it chooses. The same is
 * true of installing one's own package, restoring the whole system, or bringing in the users of another cluster or
 * node.
 */
const OVER_RIGHTS = [
  '/localUsers',
  '/rbac',
  '/backup',
  '/revisions',
  '/audit',
  '/radius',
  '/saml',
  '/oidc',
  '/login',
  '/cluster',
] as const
/** The endpoints among the other settings that give control of the machine: raw lines may name programs. */
const OVER_THE_SYSTEM = ['updates.upload', 'lvmSnapshots.restore', 'l7Raw.update'] as const

/**
 * Applies pending changes, or takes them back: without these rights, whatever the roles stage stays pending. Each of
 * these endpoints checks for every change whether the caller could have made it: other users' changes neither go live
 * nor vanish.
 */
const GOING_LIVE = [
  'services.pending',
  'services.applyState',
  'services.apply',
  'services.applyOnNode',
  'services.confirm',
  'services.revertApply',
  'services.discard',
  'services.discardAll',
] as const

/**
 * The roles of every installation. Their rights are rules over the endpoint table, so that endpoints of later versions
 * are covered without an upgrade step.
 */
export const DEFAULT_ROLES: readonly DefaultRole[] = [
  ADMINISTRATOR,
  role(
    'Manager',
    (endpoint) =>
      reads(endpoint) ||
      (!under(endpoint, ...OVER_RIGHTS) && !named(endpoint, ...OVER_THE_SYSTEM)) ||
      // A revert also needs the right to edit each record; maintenance does not change the membership of the cluster.
      named(endpoint, 'revisions.revert', 'cluster.maintainNode'),
  ),
  role(
    'Operator',
    (endpoint) =>
      reads(endpoint) ||
      named(endpoint, 'realServers.drain', 'realServers.halt', 'realServers.online') ||
      named(endpoint, 'services.reload', 'services.reloadOnNode', ...GOING_LIVE) ||
      (endpoint.effect === 'act' && under(endpoint, '/ipvsDirector/sticktable')),
  ),
  role('Certificates', (endpoint) => under(endpoint, '/certificates', '/ciphers') || named(endpoint, ...GOING_LIVE)),
  role('Backup', (endpoint) => under(endpoint, '/backup') || named(endpoint, 'jobs.list', 'jobs.get', ...GOING_LIVE)),
  role(
    'Monitoring',
    (endpoint) =>
      reads(endpoint) &&
      (endpoint.path.includes('/stats') || under(endpoint, '/metrics') || named(endpoint, 'services.list')),
  ),
  role('Auditor', (endpoint) => reads(endpoint) || under(endpoint, '/audit')),
]

/** Returns the endpoint table as roles see it. */
export function catalogOf(table: readonly Endpoint[]): Catalog {
  const entries = table.map((endpoint) => {
    const { name, method, path, summary } = endpoint
    return { id: endpointId(endpoint), name, method, path, summary }
  })
  return { list: () => entries, grantedBy: (stored) => grantedEndpoints(stored, table) }
}

/** Returns the ids of the endpoints that a stored role grants; a default role follows the table. */
export function grantedEndpoints(
  stored: { readonly id: string; readonly builtin: boolean; readonly endpoints: readonly string[] },
  table: readonly Endpoint[],
): ReadonlySet<string> {
  const rule = stored.builtin ? DEFAULT_ROLES.find((candidate) => candidate.id === stored.id) : undefined
  if (rule === undefined) return new Set(stored.endpoints)
  return new Set(table.filter((endpoint) => rule.grants(endpoint)).map(endpointId))
}
