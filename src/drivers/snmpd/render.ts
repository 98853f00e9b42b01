import type { SnmpSettings, SnmpUser } from '../../model/snmp.ts'
import { familyOf } from '../../base/ip-network.ts'
import { MASK } from '../../base/mask.ts'
import { communityProblem, directiveProblem } from '../../rules/snmp.ts'
import { writtenHere } from '../fragment.ts'

/** Socket for subagents, such as this daemon's own figures. Its folder is that of Debian's unit. */
export const AGENTX_SOCKET = '/run/agentx/master'

const AUTH_PROTOCOLS: Readonly<Record<SnmpUser['authAlgorithm'], string>> = {
  md5: '.1.3.6.1.6.3.10.1.1.2',
  sha: '.1.3.6.1.6.3.10.1.1.3',
  sha224: '.1.3.6.1.6.3.10.1.1.4',
  sha256: '.1.3.6.1.6.3.10.1.1.5',
  sha384: '.1.3.6.1.6.3.10.1.1.6',
  sha512: '.1.3.6.1.6.3.10.1.1.7',
}
const PRIVACY_PROTOCOLS: Readonly<Record<SnmpUser['privacyAlgorithm'], string>> = {
  des: '.1.3.6.1.6.3.10.1.2.2',
  aes: '.1.3.6.1.6.3.10.1.2.4',
  aes192: '.1.3.6.1.4.1.14832.1.3',
  aes256: '.1.3.6.1.4.1.14832.1.4',
}

/**
 * Subtrees that no manager needs and an attacker could use: targets, proxies, users, rights and communities of the
 * agent, its internals (which repeat the rights), arguments of processes.
 */
const HIDDEN = [
  ...[12, 13, 14, 15, 16, 18].map((table) => `.1.3.6.1.6.3.${table}`),
  '.1.3.6.1.4.1.8072.1',
  '.1.3.6.1.2.1.25.4.2.1.5',
]
/**
 * The only writable object, a number: whether the agent reports failed logins. Never a text: the agent writes values
 * into its state file unescaped, line breaks included, and reads that file as configuration, which may name programs to
 * run.
 */
const WRITABLE = ['.1.3.6.1.2.1.11.30']
/** Separate from the agent's earlier state, and vetted before each start by systemd/snmpd.service.d/fulcrum.conf. */
const STATE_FOLDER = '/var/lib/snmp/fulcrum'
/** Active and read-only: the agent neither allows changes nor stores it in a file of its own. */
const ACTIVE_READ_ONLY = '1 5'

export interface Agent {
  readonly settings: SnmpSettings
  /** Address of the service IP. */
  readonly ip: string
  readonly users: readonly SnmpUser[]
}

/** Renders the whole snmpd.conf. With `isShown` secrets read `**`. */
export function renderSnmpd({ settings, ip, users }: Agent, isShown = false): string {
  const { port, engineId, location, contact, enabledV2, enabledV3, community } = settings
  return writtenHere([
    `agentaddress ${familyOf(ip) === 6 ? `udp6:[${ip}]` : `udp:${ip}`}:${port}`,
    `exactEngineID 0x${engineId}`,
    `[snmp] persistentDir ${STATE_FOLDER}`,
    'master agentx',
    `agentxsocket ${AGENTX_SOCKET}`,
    ...directive('sysLocation', location),
    ...directive('sysContact', contact),
    'sysServices 72',
    'view fulcrumAll included .1',
    ...HIDDEN.map((subtree) => `view fulcrumAll excluded ${subtree}`),
    ...WRITABLE.map((subtree) => `view fulcrumSet included ${subtree}`),
    ...(enabledV2 ? versionTwo(ip, isShown ? MASK : community) : []),
    ...(enabledV3 ? versionThree(users, engineId, isShown) : []),
  ])
}

/** A value that snmpd would read differently never becomes a line. */
function directive(name: string, value: string): readonly string[] {
  return value === '' || directiveProblem(value) !== undefined ? [] : [`${name} ${value}`]
}

function versionTwo(ip: string, community: string): readonly string[] {
  if (community === '' || communityProblem(community) !== undefined) return []
  return [
    `${familyOf(ip) === 6 ? 'com2sec6' : 'com2sec'} fulcrumCommunity default ${quoted(community)}`,
    'group fulcrumCommunity v2c fulcrumCommunity',
    'access fulcrumCommunity "" v2c noauth exact fulcrumAll none none',
  ]
}

/** snmpd reads a quoted word literally except for these two characters. */
const quoted = (word: string): string => `"${word.replaceAll(/[\\"]/g, String.raw`\$&`)}"`

/** Users as the agent would write them to its own file, but here: a user removed from here is gone. */
function versionThree(users: readonly SnmpUser[], engineId: string, isShown: boolean): readonly string[] {
  const key = (hex: string) => (isShown ? MASK : `0x${hex}`)
  const sorted = users.toSorted((a, b) => (a.username < b.username ? -1 : 1))
  return [
    'access fulcrumReaders "" usm priv exact fulcrumAll none none',
    'access fulcrumWriters "" usm priv exact fulcrumAll fulcrumSet none',
    ...sorted.flatMap(({ username, writeAccess, authAlgorithm, privacyAlgorithm, authKey, privacyKey }) => [
      [
        `usmUser ${ACTIVE_READ_ONLY} 0x${engineId} "${username}" "${username}" NULL`,
        `${AUTH_PROTOCOLS[authAlgorithm]} ${key(authKey)} ${PRIVACY_PROTOCOLS[privacyAlgorithm]} ${key(privacyKey)} ""`,
      ].join(' '),
      `group ${writeAccess ? 'fulcrumWriters' : 'fulcrumReaders'} usm "${username}"`,
    ]),
  ]
}
