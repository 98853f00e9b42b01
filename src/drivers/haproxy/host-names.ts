import { parseIp } from '../../base/ip-network.ts'
import { isService, type RealServer, resolvedAt } from '../../model/real-server.ts'
import type { ConfigView } from '../../model/sections.ts'
import { endpointText } from './statement.ts'

/** Sections of HAProxy: those who ask for live names and for names of SRV records, and their tries, one a second. */
const RESOLVERS = [
  ['names', 3],
  // After a reload HAProxy (all versions of 2025 on) forgets what the state file says of such a server when its name
  // was not answered by the last of these tries and the two seconds behind it, whatever `hold` says.
  ['services', 60],
] as const
type Resolvers = (typeof RESOLVERS)[number][0]

const sectionOf = (real: RealServer): Resolvers => (isService(real.ip) ? 'services' : 'names')

/**
 * What a server line says of its host name. HAProxy starts without the addresses that it cannot find out: such servers
 * are in maintenance. A live name is not asked for at the start, where silent name servers hold up everything, but at
 * once after it. Over a reload HAProxy keeps the address that it had.
 */
const RESOLVING = {
  start: ' init-addr last,libc,none',
  live: ' resolve-prefer ipv4 init-addr last,none',
} as const satisfies Record<'start' | 'live', string>

/** Servers with the same name of SRV records get an answer each. Weights are ours: 0 is a server that drains. */
const SERVICE = ' resolve-opts ignore-weight'

/** What a server line says of where the server is; nothing of an address. */
export function resolvingWords(real: RealServer): string {
  const at = resolvedAt(real)
  if (at !== 'live') return at === undefined ? '' : RESOLVING[at]
  return ` resolvers ${sectionOf(real)}${RESOLVING.live}${isService(real.ip) ? SERVICE : ''}`
}

/** As many as the C library heeds. */
const SERVERS_MAX = 3
const DNS_PORT = 53

/** The name servers of /etc/resolv.conf, as HAProxy reads them. Without any, the C library asks this very machine. */
export function nameServersOf(resolvConf: string): readonly string[] {
  const named = resolvConf.split('\n').flatMap((line) => {
    const [word, address = ''] = line.trim().split(/\s+/)
    if (word !== 'nameserver' || parseIp(address) === undefined) return []
    return [endpointText(address, DNS_PORT)]
  })
  return named.length === 0 ? LOCAL : named.slice(0, SERVERS_MAX)
}
const LOCAL = [`127.0.0.1:${DNS_PORT}`] as const

interface Names {
  readonly at: ReadonlySet<'start' | 'live'>
  readonly used: ReadonlySet<Resolvers>
}
const namesByList = new WeakMap<Iterable<RealServer>, Names>()

/** The names of all real servers; computed once as long as a view has the same list. */
function namesOf(view: ConfigView): Names {
  const list = view.list('realServers')
  const known = namesByList.get(list)
  if (known !== undefined) return known
  const at = new Set<'start' | 'live'>()
  const used = new Set<Resolvers>()
  for (const real of list) {
    const resolved = resolvedAt(real)
    if (resolved !== undefined) at.add(resolved)
    if (resolved === 'live') used.add(sectionOf(real))
  }
  const names = { at, used }
  namesByList.set(list, names)
  return names
}

/** Whether some real server has a name that is resolved then. */
export const hasNames = (view: ConfigView, at: 'start' | 'live'): boolean => namesOf(view).at.has(at)

/** One unanswered name delays the start, and each check of the file, by two seconds instead of twenty. */
export const RESOLVER_PATIENCE = 'setenv RES_OPTIONS "timeout:1 attempts:1"'

/**
 * The name servers for live names, how often they are asked, and how long an answer holds when there is no other. That
 * a name is gone must have been answered for ten seconds, and with each of the tries; name servers that fail or are
 * silent take no server out, except one that was not answered within its tries after a reload.
 */
export function resolversLines(view: ConfigView, nameServers: readonly string[] = LOCAL): readonly string[] {
  const { used } = namesOf(view)
  return RESOLVERS.filter(([name]) => used.has(name)).flatMap(([name, tries]) => [
    '',
    `resolvers ${name}`,
    ...nameServers.map((address, at) => `    nameserver dns${at + 1} ${address}`),
    '    accepted_payload_size 1232',
    `    resolve_retries ${tries}`,
    '    timeout resolve 2s',
    '    timeout retry 1s',
    '    hold valid 10s',
    '    hold nx 10s',
    // Some name servers answer with a few of many records at a time.
    ...(name === 'services' ? ['    hold obsolete 10s'] : []),
    ...['refused', 'timeout', 'other'].map((failure) => `    hold ${failure} 24d`),
  ])
}
