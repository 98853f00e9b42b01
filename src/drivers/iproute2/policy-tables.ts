import { canonicalNetwork } from '../../base/ip-network.ts'
import type { IpRoute } from '../../model/network.ts'

const FIRST_TABLE = 10_000
const TABLES = 15_990_000

/** Routes with the same packets share a table. */
const selectorOf = ({ source, destination }: IpRoute): string =>
  `${canonicalNetwork(source)} ${destination === '' ? '' : canonicalNetwork(destination)}`

/**
 * Assigns a routing table to each source (and destination), by route id. The number is a hash of the texts, so that it
 * does not depend on other routes; after a collision, the one that sorts later gets the next free number.
 */
export function policyTables(routes: readonly IpRoute[]): ReadonlyMap<string, number> {
  const selectors = [...new Set(routes.map(selectorOf))].sort()
  const taken = new Map<number, string>()
  const tables = new Map<string, number>()
  for (const selector of selectors) {
    let offset = hash(selector) % TABLES
    while (taken.has(offset)) offset = (offset + 1) % TABLES
    taken.set(offset, selector)
    tables.set(selector, FIRST_TABLE + offset)
  }
  return new Map(routes.map((route) => [route.id, tables.get(selectorOf(route)) ?? FIRST_TABLE]))
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x81_1c_9d_c5
  for (const character of text) value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93) >>> 0
  return value
}
