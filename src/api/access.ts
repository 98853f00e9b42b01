import { nameBasedId } from '../base/ids.ts'
import type { Catalog } from '../context/catalog.ts'
import type { Endpoint } from './endpoint.ts'

/** The id by which roles grant an endpoint: stable across versions as long as method and path are. */
export function endpointId(endpoint: { readonly method: string; readonly path: string }): string {
  return nameBasedId(`${endpoint.method} ${endpoint.path}`)
}

export interface DefaultRole {
  readonly id: string
  readonly name: string
  grants(endpoint: Endpoint): boolean
}

/** Only auditors may see who did what. */
const reads = (endpoint: Endpoint) => endpoint.method === 'GET' && !endpoint.reveals && !under(endpoint, '/audit')
const under = (endpoint: Endpoint, ...prefixes: readonly string[]) =>
  prefixes.some((prefix) => endpoint.path === prefix || endpoint.path.startsWith(`${prefix}/`))
const named = (endpoint: Endpoint, ...names: readonly string[]) => names.includes(endpoint.name)

function role(name: string, grants: (endpoint: Endpoint) => boolean): DefaultRole {
  return { id: nameBasedId(`role ${name}`), name, grants }
}

export const ADMINISTRATOR = role('Administrator', () => true)

/**
 * A caller that may write here could grant rights to anybody, by restoring users and roles as they were or never were.
 * The same goes for a caller that installs its own package, takes the whole system back, or brings in the users of
 * another cluster or node.
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
/** Among other settings, what makes somebody master of the machine: raw lines may name programs. */
const OVER_THE_SYSTEM = ['updates.upload', 'lvmSnapshots.restore', 'l7Raw.update'] as const

/**
 * What makes one's own changes real, or takes them back: without it whatever these roles stage is without effect, and
 * stays. Each of them judges of every change whether the caller could make it as well: nobody else's goes live or
 * vanishes by it.
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
 * The roles every installation has. Their rights are rules over the endpoint table, so that endpoints of later versions
 * fall under them without an upgrade step.
 */
export const DEFAULT_ROLES: readonly DefaultRole[] = [
  ADMINISTRATOR,
  role(
    'Manager',
    (endpoint) =>
      reads(endpoint) ||
      (!under(endpoint, ...OVER_RIGHTS) && !named(endpoint, ...OVER_THE_SYSTEM)) ||
      // A revert takes the right to edit each record; maintenance does not change who belongs to the cluster.
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

/** The table as roles see it. */
export function catalogOf(table: readonly Endpoint[]): Catalog {
  const entries = table.map((endpoint) => {
    const { name, method, path, summary } = endpoint
    return { id: endpointId(endpoint), name, method, path, summary }
  })
  return { list: () => entries, grantedBy: (stored) => grantedEndpoints(stored, table) }
}

/** The ids of the endpoints a stored role grants; a default role follows the table. */
export function grantedEndpoints(
  stored: { readonly id: string; readonly builtin: boolean; readonly endpoints: readonly string[] },
  table: readonly Endpoint[],
): ReadonlySet<string> {
  const rule = stored.builtin ? DEFAULT_ROLES.find((candidate) => candidate.id === stored.id) : undefined
  if (rule === undefined) return new Set(stored.endpoints)
  return new Set(table.filter((endpoint) => rule.grants(endpoint)).map(endpointId))
}
