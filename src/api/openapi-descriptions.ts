import type { ErrorCode } from '../base/errors.ts'
import type { Endpoint } from './endpoint.ts'
import { refusalCodes } from './refusal-codes.ts'

/**
 * Returns the description of an operation, which follows its summary: the additional text of its definition (`about`),
 * what it accepts and when it takes effect, and the refusals specific to it.
 */

const BY_HAPROXY = 'HAProxy takes it at runtime where it can, else by a reload that drops no connection'
const BY_KEEPALIVED = 'keepalived takes it at runtime where it can, else by a reload that drops no connection'
const BY_BOTH = 'HAProxy and keepalived take it at runtime where they can, else by a reload that drops no connection'
const BY_DAEMON = 'the daemon goes by it without touching a program'
const BY_KERNEL = 'the addresses and routes of the kernel follow'
const BY_SNMPD = 'snmpd is restarted with it'

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
  acmeOrders: 'the daemon goes by it, and brings what the CA issues to what shows it',
  syslogServer: BY_DAEMON,
  realServers: BY_BOTH,
  healthChecks: BY_BOTH,
  l4Frontends: BY_KEEPALIVED,
  l4Backends: BY_KEEPALIVED,
  l7Frontends: BY_HAPROXY,
  l7Backends: BY_HAPROXY,
  l7Raw: 'HAProxy is reloaded with it, without dropping a connection',
  certificates: 'what shows it takes it without dropping a connection',
  cipherLists: 'HAProxy is reloaded with it where a frontend names it',
  ipGroups: BY_KERNEL,
  staticIps: BY_KERNEL,
  floatingIps: BY_KERNEL,
  ipRoutes: BY_KERNEL,
  conntrack: 'the kernel takes it',
  systemProxy: 'what fetches packages goes by it',
  dateTime: 'the machine has the time zone, and the service of NTP is restarted where its servers change',
  userInterface: 'the API and sshd listen there',
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
  public: 'Takes no login',
  authenticated: 'Takes a login and no role',
  granted: 'Takes a role that grants it',
}

export function describe(endpoint: Endpoint): string {
  const { about, access } = endpoint
  const codes = refusalCodes(endpoint).filter((code) => !EVERYWHERE.has(code))
  return [
    ...(about === undefined ? [] : [`${about}.`]),
    `${NEEDS[access]}${endpoint.reveals ? ', which no read-only role does as the answer holds secrets' : ''}, and ${effectOf(endpoint)}.`,
    ...(codes.length === 0 ? [] : [`Refused, beside what any request may be, with ${listed(codes)}.`]),
  ].join(' ')
}

function effectOf({ name, effect, managedOnly }: Endpoint): string {
  const then = AT_APPLY[name.split('.', 1)[0] ?? ''] ?? 'every program that it concerns follows'
  switch (effect) {
    case 'read':
      return 'changes nothing'
    case 'stage':
      return `is staged: the machine stays as it is until the next apply, with which ${then}`
    case 'stage-and-act':
      return `is staged, but for what it says happens at once: with the next apply ${then}`
    case 'act':
      return `happens at once, without an apply${managedOnly ? '; a daemon that only watches refuses it' : ''}`
    case 'apply':
      return 'is done when it is answered: the machine, or those of all nodes, are as it says, or as they were'
    default:
      return effect satisfies never
  }
}

const listed = (codes: readonly ErrorCode[]): string => {
  const words = codes.map((code) => `\`${code}\``)
  return words.length === 1 ? words.join() : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
