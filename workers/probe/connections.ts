import { canonicalIp, familyOf, fullPrefix } from '../../src/base/ip-network.ts'
import type { Connection } from '../../src/model/machine-facts.ts'
import { readText } from '../host/durable-files.ts'
import type { Run } from '../host/managed-program.ts'

/** The second is missing where the kernel was started without IPv6. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']
const TIMEOUT_MS = 5_000
const ESTABLISHED = '01'
const MAPPED = '00000000000000000000ffff'

/** Returns a client's connections to a port of this node, with the route of the replies. */
export async function readConnections(
  client: string,
  port: number,
  run: Run,
  files: readonly string[] = TABLES,
): Promise<readonly Connection[]> {
  const tables = await Promise.all(files.map(readText))
  const locals = new Set(tables.flatMap((table = '') => localAddresses(table, client, port)))
  return Promise.all([...locals].map(async (local) => ({ local, ...(await routeTo(client, local, run)) })))
}

/** Parses a connection table of the kernel. */
export function localAddresses(table: string, client: string, port: number): readonly string[] {
  const wanted = canonicalIp(client)
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state]) => state === ESTABLISHED)
    .flatMap(([, local = '', remote = '']) => {
      const [localIp, localPort] = endpointOf(local)
      return localPort === port && endpointOf(remote)[0] === wanted ? [localIp] : []
    })
}

/** Parses address and port of "0100007F:1F90": words of four bytes in the machine's byte order. */
function endpointOf(text: string): readonly [ip: string, port: number] {
  const [hex = '', port = ''] = text.split(':')
  const bytes = (hex.match(/.{8}/g) ?? []).map((word) => (word.match(/../g) ?? []).toReversed().join('')).join('')
  return [addressOf(bytes.toLowerCase()), Number.parseInt(port, 16)]
}

function addressOf(bytes: string): string {
  const four = bytes.length === 8 ? bytes : bytes.startsWith(MAPPED) ? bytes.slice(MAPPED.length) : undefined
  if (four !== undefined) return (four.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).join('.')
  return canonicalIp((bytes.match(/.{4}/g) ?? []).join(':'))
}

interface RawMatch {
  readonly dst?: string
  readonly gateway?: string
  readonly via?: { readonly host?: string }
}

/**
 * Returns the route of the replies; the default route if the kernel names none, so that any change of a route counts.
 */
async function routeTo(client: string, local: string, run: Run): Promise<Omit<Connection, 'local'>> {
  const argv = ['ip', '-j', '-N', 'route', 'get', 'fibmatch', client, 'from', local]
  const { exitCode, output } = await run(argv, TIMEOUT_MS)
  const [route]: readonly RawMatch[] = exitCode === 0 ? JSON.parse(output) : []
  const { dst = 'default', gateway, via } = route ?? {}
  const hop = gateway ?? via?.host
  const next = hop === undefined ? {} : { via: canonicalIp(hop) }
  if (dst === 'default') return { destination: familyOf(client) === 6 ? '::/0' : '0.0.0.0/0', ...next }
  return { destination: dst.includes('/') ? dst : `${dst}/${fullPrefix(familyOf(dst))}`, ...next }
}
