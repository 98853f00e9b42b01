import { canonicalNetwork, nearestTo, parseNetwork } from '../../base/ip-network.ts'
import type { DesiredAddress, DesiredNetwork, DesiredRoute, DesiredRule } from '../host.ts'

const MAIN_TABLE = 254

/** An address of an interface, whatever added it. */
export type Standing = Pick<DesiredAddress, 'interfaceId' | 'ip' | 'prefix'>

/** A route or rule that was added, removed or redirected. */
export interface RouteChange {
  /** CIDR; for a rule without a destination, everything. */
  readonly destination: string
  /** CIDR of the packets' source, for a rule. */
  readonly source: string | undefined
}

export interface NetworkChange {
  /** Addresses that an interface loses, even if another one gets them. */
  readonly removedAddresses: readonly string[]
  /** Added, removed or changed routes, including networks of addresses, and rules. */
  readonly routes: readonly RouteChange[]
}

/**
 * Returns the changes that can cut a connection off. `standing` are all current addresses: the network of an added or
 * removed address is a route as well, unless another address of its interface keeps it.
 */
export function networkChange(
  running: DesiredNetwork,
  desired: DesiredNetwork,
  standing: readonly Standing[] = running.addresses,
): NetworkChange {
  const kept = new Set(desired.addresses.map(placeOf))
  const removed = running.addresses.filter((address) => !kept.has(placeOf(address)))
  const ours = new Set(running.addresses.map(wholeOf))
  const remaining = [...standing.filter((address) => !ours.has(wholeOf(address))), ...desired.addresses]
  const connected = differing(connectedTo(standing), connectedTo(remaining))
  const rules = [...running.rules, ...desired.rules]
  // A route in a separate table concerns the packets that rules send there.
  const routes = differing(carried(running.routes, standing), carried(desired.routes, remaining)).flatMap(
    ({ destination, table }): readonly RouteChange[] =>
      table === MAIN_TABLE
        ? [{ destination, source: undefined }]
        : rules.filter((rule) => rule.table === table).map((rule) => ({ destination, source: rule.from })),
  )
  const networks = connected.map(({ destination }) => ({ destination, source: undefined }))
  const moved = differing(running.rules, desired.rules)
    .filter((rule) => rule.table !== MAIN_TABLE)
    .map((rule) => ({ destination: targetOf(rule), source: rule.from }))
  const unique = new Map(
    [...networks, ...routes, ...moved].map((change) => [`${change.destination} ${change.source}`, change]),
  )
  return { removedAddresses: removed.map(({ ip }) => ip), routes: [...unique.values()] }
}

const placeOf = ({ ip, interfaceId }: Standing): string => `${interfaceId} ${ip}`
const wholeOf = ({ ip, interfaceId, prefix }: Standing): string => `${interfaceId} ${ip}/${prefix}`
const targetOf = ({ to, from }: DesiredRule): string => to ?? (from.includes(':') ? '::/0' : '0.0.0.0/0')

interface Connected {
  readonly interfaceId: string
  readonly destination: string
}

/** The directly connected networks of interfaces. */
const connectedTo = (standing: readonly Standing[]): readonly Connected[] =>
  standing.map(({ interfaceId, ip, prefix }) => ({ interfaceId, destination: canonicalNetwork(`${ip}/${prefix}`) }))

/** A route without an interface uses the one to which its next hop is connected, or waits. */
function carried(routes: readonly DesiredRoute[], standing: readonly Standing[]): readonly DesiredRoute[] {
  return routes.map((route) => ({ ...route, interfaceId: route.interfaceId ?? carrierOf(route.via, standing) }))
}

function carrierOf(via: string | undefined, standing: readonly Standing[]): string | undefined {
  const hop = via === undefined ? undefined : parseNetwork(via)
  return hop === undefined ? undefined : nearestTo(hop, standing)?.interfaceId
}

function differing<T extends DesiredRoute | DesiredRule | Connected>(
  before: readonly T[],
  after: readonly T[],
): readonly T[] {
  const [old, new_] = [
    new Set(before.map((item) => JSON.stringify(item))),
    new Set(after.map((item) => JSON.stringify(item))),
  ]
  return [
    ...before.filter((item) => !new_.has(JSON.stringify(item))),
    ...after.filter((item) => !old.has(JSON.stringify(item))),
  ]
}
