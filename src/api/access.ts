import { createHash } from 'node:crypto'
import type { Endpoint } from './endpoint.ts'

/** Namespace of this project's name-based ids (RFC 9562, version 5). */
const NAMESPACE = Buffer.from('6f1c4f0a3d5e4b7a9c2d8e1f0a5b6c7d', 'hex')

/** RFC 9562 version 5 UUID of `name` in the project's namespace. */
export function nameBasedId(name: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16)
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6)
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = hash.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The id by which roles grant an endpoint: stable across versions as long as method and path are. */
export function endpointId(endpoint: { readonly method: string; readonly path: string }): string {
  return nameBasedId(`${endpoint.method} ${endpoint.path}`)
}

export interface DefaultRole {
  readonly id: string
  readonly name: string
  grants(endpoint: Endpoint): boolean
}

const reads = (endpoint: Endpoint) => endpoint.effect === 'read' && !endpoint.reveals
const under = (endpoint: Endpoint, ...prefixes: readonly string[]) =>
  prefixes.some((prefix) => endpoint.path === prefix || endpoint.path.startsWith(`${prefix}/`))
const named = (endpoint: Endpoint, ...names: readonly string[]) => names.includes(endpoint.name)

function role(name: string, grants: (endpoint: Endpoint) => boolean): DefaultRole {
  return { id: nameBasedId(`role ${name}`), name, grants }
}

export const ADMINISTRATOR = role('Administrator', () => true)

/**
 * The roles every installation has. Their rights are rules over the endpoint table, so that endpoints of later versions
 * fall under them without an upgrade step. Operator may apply because a staged drain is otherwise without effect.
 */
export const DEFAULT_ROLES: readonly DefaultRole[] = [
  ADMINISTRATOR,
  role('Manager', (endpoint) => reads(endpoint) || !under(endpoint, '/localUsers', '/rbac', '/backup')),
  role(
    'Operator',
    (endpoint) =>
      reads(endpoint) ||
      named(endpoint, 'realServers.drain', 'realServers.halt', 'realServers.online') ||
      named(endpoint, 'services.reload', 'services.reloadOnNode', 'services.apply', 'services.applyOnNode') ||
      (endpoint.effect === 'act' && under(endpoint, '/ipvsDirector/sticktable')),
  ),
  role('Certificates', (endpoint) => under(endpoint, '/certificates', '/ciphers')),
  role('Backup', (endpoint) => under(endpoint, '/backup')),
  role(
    'Monitoring',
    (endpoint) =>
      reads(endpoint) &&
      (endpoint.path.includes('/stats') || under(endpoint, '/services', '/metrics') || endpoint.path === '/ping'),
  ),
  role('Auditor', reads),
]

/** The ids of the endpoints a stored role grants; a default role follows the table. */
export function grantedEndpoints(
  stored: { readonly id: string; readonly builtin: boolean; readonly endpoints: readonly string[] },
  table: readonly Endpoint[],
): ReadonlySet<string> {
  const rule = stored.builtin ? DEFAULT_ROLES.find((candidate) => candidate.id === stored.id) : undefined
  if (rule === undefined) return new Set(stored.endpoints)
  return new Set(table.filter((endpoint) => rule.grants(endpoint)).map(endpointId))
}
