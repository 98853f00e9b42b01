import { Resolver } from 'node:dns/promises'
import type { AcmeAnswer } from '../model/acme.ts'

const ANSWER_MS = 2_000
const SERVERS_MAX = 8

/** The name servers by suffix of a name; undefined for suffixes without any. */
type Zones = Map<string, Promise<readonly string[] | undefined>>

type Asker = Pick<Resolver, 'resolve4' | 'resolve6' | 'resolveNs' | 'resolveTxt'>

/** Returns a resolver for these servers, or for those of the machine. */
export function askerOf(servers?: readonly string[]): Asker {
  const resolver = new Resolver({ timeout: ANSWER_MS, tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  return resolver
}

/**
 * Returns why a CA might not see these records; undefined if each server that it could query has each of them. Without
 * `nameServers`, those are the servers of the zone.
 */
export async function whyInvisible(
  answers: readonly AcmeAnswer[],
  nameServers: readonly string[] | undefined,
  asker = askerOf,
): Promise<string | undefined> {
  const zones: Zones = new Map()
  for (const { name, value } of answers) {
    const servers = nameServers ?? (await serversOf(name, asker(), zones))
    if (servers.length === 0) return `no name server is known for ${name}: set nameServers, or visibleWithin to 0`
    const lacks = await Promise.all(servers.map(async (server) => !(await shows(asker([server]), name, value))))
    const behind = servers.filter((_, at) => lacks[at])
    if (behind.length > 0) return `${behind.join(', ')} does not show the record ${name}`
  }
  return undefined
}

async function shows(asker: Asker, name: string, value: string): Promise<boolean> {
  const records = await asker.resolveTxt(name).catch(() => [])
  return records.some((parts) => parts.join('') === value)
}

/**
 * Returns the name servers of the name's zone: those of the longest suffix that has any. That may be the name itself,
 * because many delegate nothing but the challenges. `zones` caches suffixes, since most names of an order share them.
 */
async function serversOf(name: string, asker: Asker, zones: Zones): Promise<readonly string[]> {
  const labels = name.split('.')
  for (const at of labels.keys()) {
    const zone = labels.slice(at).join('.')
    const asked = zones.get(zone) ?? serversFor(zone, asker)
    zones.set(zone, asked)
    const servers = await asked
    if (servers !== undefined) return servers
  }
  return []
}

/** Undefined if the name has no name servers. */
async function serversFor(zone: string, asker: Asker): Promise<readonly string[] | undefined> {
  const names = await asker.resolveNs(zone).catch(() => [])
  if (names.length === 0) return undefined
  const found = await Promise.all(names.map((server) => addressesOf(server, asker)))
  return [...new Set(found.flat())].slice(0, SERVERS_MAX)
}

/** IPv4 before IPv6, which this machine may not have. */
async function addressesOf(name: string, asker: Asker): Promise<readonly string[]> {
  const found = await asker.resolve4(name).catch(() => [])
  return found.length > 0 ? found : asker.resolve6(name).catch(() => [])
}
