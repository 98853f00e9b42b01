import type { ErrorCode } from '../base/errors.ts'
import type { Endpoint } from './endpoint.ts'
import { refusalCodes } from './refusal-codes.ts'

/**
 * Returns the description of an operation, which follows its summary: the additional text of its definition (`about`),
 * what it accepts and when it takes effect, and the refusals specific to it.
 */

const BY_HAPROXY = 'HAProxy applies it at runtime if possible, otherwise by a reload that drops no connection'
const BY_KEEPALIVED = 'keepalived applies it at runtime if possible, otherwise by a reload that drops no connection'
const BY_BOTH = 'HAProxy and keepalived apply it at runtime if possible, otherwise by a reload that drops no connection'
const BY_DAEMON = 'the daemon uses it without affecting other programs'
const BY_KERNEL = 'the addresses and routes of the kernel are updated'
const BY_SNMPD = 'snmpd is restarted'

/** What an apply does with changes staged by endpoints of this resource. */
const AT_APPLY: Readonly<Record<string, string>> = {
  loginPolicy: BY_DAEMON,
  saml: BY_DAEMON,
  oidc: BY_DAEMON,
  localUsers: BY_DAEMON,
  groups: BY_DAEMON,
  roles: BY_DAEMON,
  radiusConfig: BY_DAEMON,
  radiusUsers: BY_DAEMON,
  alertRules: BY_DAEMON,
  alertTargets: BY_DAEMON,
  acmeAccounts: BY_DAEMON,
  acmeOrders: 'the daemon uses it, and deploys issued certificates',
  syslogServer: BY_DAEMON,
  realServers: BY_BOTH,
  healthChecks: BY_BOTH,
  l4Frontends: BY_KEEPALIVED,
  l4Backends: BY_KEEPALIVED,
  l7Frontends: BY_HAPROXY,
  l7Backends: BY_HAPROXY,
  l7Raw: 'HAProxy is reloaded without dropping a connection',
  certificates: 'its users load it without dropping a connection',
  cipherLists: 'HAProxy is reloaded if a frontend uses it',
  ipGroups: BY_KERNEL,
  staticIps: BY_KERNEL,
  floatingIps: BY_KERNEL,
  ipRoutes: BY_KERNEL,
  conntrack: 'the kernel uses it',
  systemProxy: 'package downloads use it',
  dateTime: 'the time zone is set, and the NTP service is restarted if its servers change',
  userInterface: 'the API and sshd listen at the new addresses',
  snmp: BY_SNMPD,
  snmpUsers: BY_SNMPD,
}

/** Refusals that are possible everywhere, or for every invalid body, and so say nothing about one operation. */
const EVERYWHERE: ReadonlySet<ErrorCode> = new Set([
  'MALFORMED_REQUEST',
  'UNAUTHENTICATED',
  'TOKEN_EXPIRED',
  'PERMISSION_DENIED',
  'NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'INVALID_BODY',
  'INVALID_QUERY',
  'REVISION_MISMATCH',
  'TOO_MANY_AT_ONCE',
  'INTERNAL',
  'NODE_UNREACHABLE',
  'NO_QUORUM',
])

const NEEDS: Readonly<Record<Endpoint['access'], string>> = {
  public: 'Needs no login',
  authenticated: 'Needs a login, but no role',
  granted: 'Needs a role that grants it',
}

export function describe(endpoint: Endpoint): string {
  const { about, access } = endpoint
  const codes = refusalCodes(endpoint).filter((code) => !EVERYWHERE.has(code))
  return [
    ...(about === undefined ? [] : [`${about}.`]),
    `${NEEDS[access]}${endpoint.reveals ? ', which no read-only role does because the answer contains secrets' : ''}, and ${effectOf(endpoint)}.`,
    ...(codes.length === 0 ? [] : [`In addition to the general errors, it can fail with ${listed(codes)}.`]),
  ].join(' ')
}

function effectOf({ name, effect, managedOnly }: Endpoint): string {
  const then = AT_APPLY[name.split('.', 1)[0] ?? ''] ?? 'the affected programs are updated'
  switch (effect) {
    case 'read':
      return 'changes nothing'
    case 'stage':
      return `is staged: nothing changes on the machine until the next apply, when ${then}`
    case 'stage-and-act':
      return `is staged, except for what takes effect immediately: with the next apply, ${then}`
    case 'act':
      return `takes effect immediately, without an apply${managedOnly ? '; a daemon in observe mode refuses it' : ''}`
    case 'apply':
      return 'is complete when the answer arrives: the change has either been applied on the machine, or on all nodes, or nothing has changed'
    default:
      return effect satisfies never
  }
}

const listed = (codes: readonly ErrorCode[]): string => {
  const words = codes.map((code) => `\`${code}\``)
  return words.length === 1 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
