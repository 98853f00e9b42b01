import { parseIp } from '../../base/ip-network.ts'
import { isService, type RealServer, resolvedAt } from '../../model/real-server.ts'
import type { ConfigView } from '../../model/sections.ts'
import { endpointText } from './statement.ts'

/** Section of HAProxy. */
const RESOLVERS = 'names'

/**
 * What a server line says of its host name. HAProxy starts without the addresses that it cannot find out: such servers
 * are in maintenance. A live name is not asked for at the start, where silent name servers hold up everything, but at
 * once after it. Over a reload HAProxy keeps the address that it had.
 */
const RESOLVING = {
  start: ' init-addr last,libc,none',
  live: ` resolvers ${RESOLVERS} resolve-prefer ipv4 init-addr last,none`,
} as const satisfies Record<'start' | 'live', string>

/** Servers with the same name of SRV records get an answer each. Weights are ours: 0 is a server that drains. */
const SERVICE = `${RESOLVING.live} resolve-opts ignore-weight`

/** What a server line says of where the server is; nothing of an address. */
export function resolvingWords(real: RealServer): string {
  const at = resolvedAt(real)
  return at === undefined ? '' : isService(real.ip) ? SERVICE : RESOLVING[at]
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

/** Whether some real server has a name that is resolved then. */
export function hasNames(view: ConfigView, at: 'start' | 'live'): boolean {
  for (const real of view.list('realServers')) if (resolvedAt(real) === at) return true
  return false
}

export function hasServices(view: ConfigView): boolean {
  for (const real of view.list('realServers')) if (isService(real.ip)) return true
  return false
}

/** One silent name holds up the start, and each check of the file, for two seconds instead of twenty. */
export const RESOLVER_PATIENCE = 'setenv RES_OPTIONS "timeout:1 attempts:1"'

/**
 * Who is asked for live names, how often, and how long an answer holds when there is no other. That a name is gone
 * must have been answered for ten seconds; name servers that fail or are silent take no server out.
 */
export function resolversLines(
  nameServers: readonly string[] = LOCAL,
  { services = false }: { readonly services?: boolean } = {},
): readonly string[] {
  return [
    `resolvers ${RESOLVERS}`,
    ...nameServers.map((address, at) => `    nameserver dns${at + 1} ${address}`),
    '    accepted_payload_size 1232',
    '    resolve_retries 3',
    '    timeout resolve 2s',
    '    timeout retry 1s',
    '    hold valid 10s',
    '    hold nx 10s',
    // Some name servers answer with a few of many records at a time.
    ...(services ? ['    hold obsolete 10s'] : []),
    ...['refused', 'timeout', 'other'].map((failure) => `    hold ${failure} 24d`),
  ]
}
