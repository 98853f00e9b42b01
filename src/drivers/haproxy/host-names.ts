import { parseIp } from '../../base/ip-network.ts'
import { isService, type RealServer, resolvedAt } from '../../model/real-server.ts'
import type { ConfigView } from '../../model/sections.ts'
import { endpointText } from './statement.ts'

/** Resolver sections, for live names and for names of SRV records, with their attempts, one per second. */
const RESOLVERS = [
  ['names', 3],
  // After a reload HAProxy (all versions from 2025 on) drops the carried state of such a server if its name was not
  // answered by the last of these attempts and two seconds more, whatever `hold` says.
  ['services', 60],
] as const
type Resolvers = (typeof RESOLVERS)[number][0]

const sectionOf = (real: RealServer): Resolvers => (isService(real.ip) ? 'services' : 'names')

/**
 * Server options for host names. HAProxy starts even without an address, with the server in maintenance. A live name is
 * not resolved during the start, which silent name servers would delay, but right after it. Over a reload HAProxy keeps
 * the previous address.
 */
const RESOLVING = {
  start: ' init-addr last,libc,none',
  live: ' resolve-prefer ipv4 init-addr last,none',
} as const satisfies Record<'start' | 'live', string>

/** Servers with the same SRV name share its answers, one each. Weights are ours: 0 means a drained server. */
const SERVICE = ' resolve-opts ignore-weight'

/** Returns the server options for resolving its name; empty for an address. */
export function resolvingWords(real: RealServer): string {
  const at = resolvedAt(real)
  if (at !== 'live') return at === undefined ? '' : RESOLVING[at]
  return ` resolvers ${sectionOf(real)}${RESOLVING.live}${isService(real.ip) ? SERVICE : ''}`
}

/** The C library uses no more. */
const SERVERS_MAX = 3
const DNS_PORT = 53

/** Returns the name servers of /etc/resolv.conf for HAProxy. Without any, the C library asks this machine itself. */
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

/** Kinds of names of all real servers; computed once per list of a view. */
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

/** Whether some real server has a name that is resolved at that time. */
export const hasNames = (view: ConfigView, at: 'start' | 'live'): boolean => namesOf(view).at.has(at)

/** An unanswered name delays the start, and each check of the file, by two seconds instead of twenty. */
export const RESOLVER_PATIENCE = 'setenv RES_OPTIONS "timeout:1 attempts:1"'

/**
 * Returns the resolver sections: name servers, intervals, and how long answers hold without a newer one. A server goes
 * out if its name was reported missing for ten seconds, and at each attempt. Failing or silent name servers take no
 * server out, except one that was not answered within its attempts after a reload.
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
    // Some name servers return only a few of many records at a time.
    ...(name === 'services' ? ['    hold obsolete 10s'] : []),
    ...['refused', 'timeout', 'other'].map((failure) => `    hold ${failure} 24d`),
  ])
}
