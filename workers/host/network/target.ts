import type { DesiredAddress, DesiredNetwork, DesiredRoute } from '../../../src/drivers/host.ts'
import { kernelMetric } from '../../../src/drivers/iproute2/kernel-metric.ts'
import { canonicalIp, canonicalNetwork, familyOf, nearestTo, parseNetwork } from '../../../src/base/ip-network.ts'
import {
  addressText,
  familyOfAddress,
  type KernelAddress,
  type KernelRoute,
  type KernelRule,
  type KernelState,
  routeKey,
  ruleText,
} from './kernel-state.ts'
import type { Link } from './links.ts'
import type { OwnedAddress } from './memory.ts'

export interface TargetAddress extends KernelAddress {
  readonly pingCheck: boolean
  readonly gateway: string | undefined
}

/** Our wanted part of the kernel, in the kernel's own terms. */
export interface Target {
  readonly addresses: readonly TargetAddress[]
  readonly routes: readonly KernelRoute[]
  readonly rules: readonly KernelRule[]
}

export interface Resolved {
  readonly target: Target
  readonly warnings: readonly string[]
}

/** Returns our current part of the kernel. */
export function ourPart({ addresses, routes, rules }: KernelState, owned: readonly OwnedAddress[]): Target {
  const ours = new Set(owned.map(addressText))
  return {
    addresses: addresses
      .filter((address) => ours.has(addressText(address)))
      .map((address) => ({ ...address, pingCheck: false, gateway: undefined })),
    routes: routes.filter(({ isOurs }) => isOurs),
    rules: rules.filter(({ isOurs }) => isOurs),
  }
}

/** Resolves interfaces to names. Parts that this machine cannot have now are left out and reported. */
export function resolve(desired: DesiredNetwork, kernel: KernelState, owned: readonly OwnedAddress[]): Resolved {
  const warnings = new Set<string>()
  const links = new Map(kernel.links.map((link) => [link.id, link]))
  const addresses = desired.addresses.flatMap((wanted) => addressOf(wanted, links, warnings))
  const ours = new Set(owned.map(addressText))
  const foreign = kernel.addresses.filter((address) => !ours.has(addressText(address)))
  const reach = { links, networks: [...addresses, ...foreign] }
  const routes = desired.routes.flatMap((wanted) => routeOf(wanted, reach, warnings))
  const rules = desired.rules.map(({ priority, from, to, table, suppressPrefixLength }) => ({
    family: familyOf(from),
    priority,
    from: ruleNetwork(from),
    to: to === undefined ? undefined : ruleNetwork(to),
    table,
    suppressPrefixLength,
  }))
  return { target: { addresses, routes, rules }, warnings: [...warnings] }
}

/** The kernel shows no source in a rule for every source. */
function ruleNetwork(text: string): string | undefined {
  const network = canonicalNetwork(text)
  return network.endsWith('/0') ? undefined : network
}

function addressOf(
  { ip, prefix, interfaceId, pingCheck, gateway }: DesiredAddress,
  links: ReadonlyMap<string, Link>,
  warnings: Set<string>,
): readonly TargetAddress[] {
  const link = links.get(interfaceId)
  if (link === undefined) {
    warnings.add(`this node has no interface ${interfaceId}: ${ip} waits for it`)
    return []
  }
  if (!link.isUp) warnings.add(`interface ${link.name} is down: its addresses and routes carry no traffic`)
  return [{ link: link.name, linkId: link.id, ip: canonicalIp(ip), prefix, pingCheck, gateway }]
}

interface Reach {
  readonly links: ReadonlyMap<string, Link>
  readonly networks: readonly KernelAddress[]
}

function routeOf(wanted: DesiredRoute, reach: Reach, warnings: Set<string>): readonly KernelRoute[] {
  const destination = canonicalNetwork(wanted.destination)
  const family = familyOf(destination)
  const { table, type } = wanted
  const route = { family, table, destination, metric: kernelMetric({ destination, metric: wanted.metric }), type }
  if (type === 'blackhole') return [{ ...route, via: undefined, device: undefined }]
  const via = wanted.via === undefined ? undefined : canonicalIp(wanted.via)
  const link = linkTowards(wanted.interfaceId, via, reach)
  if (typeof link === 'string') warnings.add(`the route to ${destination} waits: ${link}`)
  else if (link.isUp) return [{ ...route, via, device: link.name }]
  else warnings.add(`interface ${link.name} is down: its addresses and routes carry no traffic`)
  return []
}

/** Returns the interface of a route, or why there is none. */
function linkTowards(id: string | undefined, via: string | undefined, { links, networks }: Reach): Link | string {
  if (id !== undefined) return links.get(id) ?? `this node has no interface ${id}`
  const hop = via === undefined ? undefined : parseNetwork(via)
  if (hop === undefined) return 'it has neither a next hop nor an interface'
  const nearest = nearestTo(hop, networks)
  const link = nearest === undefined ? undefined : links.get(nearest.linkId)
  return link ?? `its next hop ${via} is in no network of this node`
}

/** Adds the wanted part to what is already ours: nothing is removed, except that a wanted route replaces ours. */
export function together(ours: Target, wanted: Target): Target {
  const present = new Set(ours.addresses.map(addressText))
  // The kernel holds an IPv6 address once per interface, whatever its prefix length.
  const present6 = new Set(ours.addresses.map(({ linkId, ip }) => `${linkId} ${ip}`))
  const keys = new Set(wanted.routes.map(routeKey))
  const rules = new Set(ours.rules.map(ruleText))
  return {
    addresses: [
      ...ours.addresses,
      ...wanted.addresses.filter((address) =>
        familyOfAddress(address) === 4
          ? !present.has(addressText(address))
          : !present6.has(`${address.linkId} ${address.ip}`),
      ),
    ],
    routes: [...wanted.routes, ...ours.routes.filter((route) => !keys.has(routeKey(route)))],
    rules: [...ours.rules, ...wanted.rules.filter((rule) => !rules.has(ruleText(rule)))],
  }
}
