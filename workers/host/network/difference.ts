import { connectedMetric } from '../../../src/drivers/iproute2/kernel-metric.ts'
import { canonicalNetwork, fullPrefix, networkOf, networkText, parseNetwork } from '../../../src/base/ip-network.ts'
import {
  addressText,
  type Family,
  familyOfAddress,
  type KernelAddress,
  type KernelRoute,
  type KernelRule,
  type KernelState,
  MAIN_TABLE,
  PROTOCOL,
  routeKey,
  routeText,
  ruleText,
} from './kernel-state.ts'
import type { DisplacedRoute, OwnedAddress } from './memory.ts'
import type { Target } from './target.ts'

export interface Comparison {
  readonly kernel: KernelState
  readonly target: Target
  readonly owned: readonly OwnedAddress[]
  readonly displaced: readonly DisplacedRoute[]
  /** Foreign routes that the kernel refused to take back. */
  readonly refused: ReadonlySet<string>
  /** Whether the addresses must also be in the order of the target. */
  readonly isOrdered: boolean
}

/** One round of changes. The round is empty when no family has a line. */
export interface Difference {
  readonly lines: Readonly<Record<Family, readonly string[]>>
  readonly adds: readonly KernelAddress[]
  /** Foreign routes that ours replace, or that the kernel removes with the last address of an interface. */
  readonly displaces: readonly KernelRoute[]
  readonly givesBack: readonly DisplacedRoute[]
  /** Interfaces that lose the first address of a subnet whose others must stay. */
  readonly promotes: readonly string[]
  /** Wanted routes whose place is taken by a route of the kernel's own. */
  readonly waits: readonly KernelRoute[]
}

/** Returns the changes that turn our part of the kernel into the target. Additions come before removals. */
export function differenceOf(comparison: Comparison): Difference {
  const addresses = addressChanges(comparison)
  const routes = routeChanges(comparison)
  const present = new Set(comparison.kernel.rules.map(ruleText))
  const wanted = new Set(comparison.target.rules.map(ruleText))
  const newRules = comparison.target.rules.filter((rule) => !present.has(ruleText(rule)))
  const oldRules = comparison.kernel.rules.filter((rule) => rule.isOurs && !wanted.has(ruleText(rule)))
  const linesOf = (family: Family): readonly string[] => {
    const of = <T>(items: readonly T[], isOf: (item: T) => Family, text: (item: T) => string) =>
      items.filter((item) => isOf(item) === family).map(text)
    const routeFamily = (route: { readonly family: Family }) => route.family
    return [
      ...of(addresses.inTheWay, familyOfAddress, deleteAddress),
      ...addresses.adds
        .filter((address) => familyOfAddress(address) === family)
        .flatMap((address) =>
          addresses.moved.has(addressText(address))
            ? [deleteAddress(address), addAddress(address)]
            : [addAddress(address)],
        ),
      // Routes without a next hop come first: the next hops of others are reached through them.
      ...of(routes.makes.toSorted(byNextHop), routeFamily, makeRoute),
      ...of(newRules, routeFamily, (rule) => `rule add ${ruleWords(rule)}`),
      ...of(oldRules, routeFamily, (rule) => `rule del ${ruleWords(rule)}`),
      ...of(routes.givesBack, routeFamily, ({ text }) => `route replace ${text}`),
      ...of(routes.removes, routeFamily, (route) => `route del ${routeWords(route)}`),
      ...of(addresses.removes, familyOfAddress, deleteAddress),
    ]
  }
  const lines = { 4: linesOf(4), 6: linesOf(6) }
  const { givesBack, waits } = routes
  const displaces = [...routes.displaces, ...endangered(comparison.kernel, addresses.removes)]
  return { lines, adds: addresses.adds, displaces, givesBack, promotes: addresses.promotes, waits }
}

export const isSame = ({ lines }: Difference): boolean => lines[4].length + lines[6].length === 0

const byNextHop = (a: KernelRoute, b: KernelRoute): number => Number(a.via !== undefined) - Number(b.via !== undefined)

const deleteAddress = ({ ip, prefix, link }: KernelAddress): string => `address del ${ip}/${prefix} dev ${link}`
function addAddress({ ip, prefix, link }: KernelAddress): string {
  // Without duplicate address detection, an address serves at once.
  if (ip.includes(':')) return `address add ${ip}/${prefix} dev ${link} nodad`
  return `address add ${ip}/${prefix} ${prefix < 31 ? 'brd + ' : ''}dev ${link}`
}

const makeRoute = (route: KernelRoute): string => `route replace ${routeWords(route)}`
function routeWords({ type, destination, via, device, metric, table }: KernelRoute): string {
  const hop = [
    ...(via === undefined ? [] : [`via ${via}`]),
    ...(device === undefined ? [] : [`dev ${device}`]),
    // The interface is known, so the order of the route and an address of its network does not matter.
    ...(via === undefined ? [] : ['onlink']),
  ]
  const what = type === 'unicast' ? [destination, ...hop] : [type, destination]
  return [...what, ...(metric === 0 ? [] : [`metric ${metric}`]), `table ${table}`, `proto ${PROTOCOL}`].join(' ')
}

function ruleWords({ family, priority, from, to, table, suppressPrefixLength }: KernelRule): string {
  const all = family === 4 ? '0.0.0.0/0' : '::/0'
  return [
    `from ${from ?? all}`,
    ...(to === undefined ? [] : [`to ${to}`]),
    `priority ${priority}`,
    `table ${table}`,
    ...(suppressPrefixLength === undefined ? [] : [`suppress_prefixlength ${suppressPrefixLength}`]),
    `protocol ${PROTOCOL}`,
  ].join(' ')
}

function addressChanges({ kernel, target, owned, isOrdered }: Comparison) {
  const ours = new Set(owned.map(addressText))
  const wanted = new Set(target.addresses.map(addressText))
  const present = new Map(kernel.addresses.map((address) => [addressText(address), address]))
  const unwanted = kernel.addresses.filter(
    (address) => ours.has(addressText(address)) && !wanted.has(addressText(address)),
  )
  const isUnwanted = new Set(unwanted.map(addressText))
  // The kernel holds an IPv6 address once per interface, whatever its prefix length.
  const held6 = new Map(
    kernel.addresses
      .filter(({ ip }) => ip.includes(':'))
      .map((address) => [`${address.linkId} ${address.ip}`, address]),
  )
  const missing = target.addresses.filter((address) => {
    if (present.has(addressText(address))) return false
    const held = held6.get(`${address.linkId} ${address.ip}`)
    return held === undefined || isUnwanted.has(addressText(held))
  })
  const inTheWay = missing.flatMap((address) => held6.get(`${address.linkId} ${address.ip}`) ?? [])
  const inTheWayTexts = new Set(inTheWay.map(addressText))
  const removes = unwanted.filter((address) => !inTheWayTexts.has(addressText(address)))
  const moved = isOrdered ? outOfOrder(kernel, target, ours, new Set(missing.map(addressText))) : new Set<string>()
  const isMissing = new Set(missing.map(addressText))
  const adds = target.addresses.filter(
    (address) => isMissing.has(addressText(address)) || moved.has(addressText(address)),
  )
  const leaving = kernel.addresses.filter(
    (address) => isUnwanted.has(addressText(address)) || moved.has(addressText(address)),
  )
  return { adds, moved, inTheWay, removes, promotes: promotedLinks(kernel, leaving) }
}

/** Key of a subnet on an interface, whose addresses compete for being the kernel's source address. */
function contest({ linkId, ip, prefix }: KernelAddress): string {
  const network = parseNetwork(`${ip}/${prefix}`)
  return `${linkId} ${network === undefined ? ip : networkText(networkOf(network))}`
}

/**
 * The kernel chooses the source of its own packets by the order in which addresses were added. The result must not
 * depend on history, so addresses out of order are removed and added again, unless a foreign route would be lost.
 */
function outOfOrder(
  kernel: KernelState,
  target: Target,
  ours: ReadonlySet<string>,
  missing: ReadonlySet<string>,
): Set<string> {
  const standing = new Map<string, string[]>()
  for (const address of kernel.addresses) {
    const text = addressText(address)
    if (!ours.has(text)) continue
    const group = standing.get(contest(address)) ?? []
    // The kernel lists the newest IPv6 address first.
    if (familyOfAddress(address) === 6) group.unshift(text)
    else group.push(text)
    standing.set(contest(address), group)
  }
  const wanted = new Map<string, string[]>()
  for (const address of target.addresses) {
    const text = addressText(address)
    if (!ours.has(text) && !missing.has(text)) continue
    const group = wanted.get(contest(address)) ?? []
    group.push(text)
    wanted.set(contest(address), group)
  }
  const pinned = new Set(kernel.addresses.filter(({ ip }) => kernel.sources.has(ip)).map(addressText))
  const moved = new Set<string>()
  for (const [group, texts] of wanted) {
    const members = new Set(texts)
    const order = (standing.get(group) ?? []).filter((text) => members.has(text))
    const kept = texts.findIndex((text, index) => order[index] !== text)
    if (kept === -1) continue
    const late = order.slice(kept)
    if (late.some((text) => pinned.has(text))) continue
    for (const text of late) moved.add(text)
  }
  return moved
}

function promotedLinks(kernel: KernelState, leaving: readonly KernelState['addresses'][number][]): readonly string[] {
  const firsts = leaving.filter((address) => familyOfAddress(address) === 4 && !address.isSecondary)
  if (firsts.length === 0) return []
  const rivals = new Map<string, number>()
  for (const address of kernel.addresses) rivals.set(contest(address), (rivals.get(contest(address)) ?? 0) + 1)
  return [...new Set(firsts.filter((first) => (rivals.get(contest(first)) ?? 0) > 1).map(({ link }) => link))]
}

/** An interface that loses its last IPv4 address loses all its IPv4 routes, including foreign ones. */
function endangered({ addresses, routes }: KernelState, removes: readonly KernelAddress[]): readonly KernelRoute[] {
  const leaving = new Set(removes.map(addressText))
  const staying = addresses.filter((address) => familyOfAddress(address) === 4 && !leaving.has(addressText(address)))
  const links = new Set(removes.map(({ link }) => link))
  for (const { link } of staying) links.delete(link)
  return routes.filter(
    ({ family, device, isOurs, isKernels }) =>
      family === 4 && !isOurs && !isKernels && device !== undefined && links.has(device),
  )
}

/** Keys of the routes that the kernel makes for addresses. */
function connectedPlaces({ kernel, target }: Comparison): ReadonlySet<string> {
  const networks = target.addresses.flatMap((address) => {
    const destination = canonicalNetwork(`${address.ip}/${address.prefix}`)
    const family = familyOfAddress(address)
    if (family === 4 && address.prefix === fullPrefix(4)) return []
    return [routeKey({ family, table: MAIN_TABLE, destination, metric: connectedMetric(destination) })]
  })
  return new Set([...networks, ...kernel.routes.filter(({ isKernels }) => isKernels).map(routeKey)])
}

function routeChanges(comparison: Comparison) {
  const { kernel, target, displaced, refused } = comparison
  const places = connectedPlaces(comparison)
  const waits = target.routes.filter((route) => places.has(routeKey(route)))
  const possible = target.routes.filter((route) => !places.has(routeKey(route)))
  const wanted = new Set(possible.map(routeKey))
  const ours = new Set(kernel.routes.filter(({ isOurs }) => isOurs).map(routeText))
  const foreign = new Map(kernel.routes.filter(({ isOurs }) => !isOurs).map((route) => [routeKey(route), route]))
  const makes = possible.filter((route) => !ours.has(routeText(route)))
  const displaces = makes.flatMap((route) => foreign.get(routeKey(route)) ?? [])
  const givesBack = displaced.filter(
    ({ key }) => !wanted.has(key) && !places.has(key) && !foreign.has(key) && !refused.has(key),
  )
  const returning = new Set(givesBack.map(({ key }) => key))
  const removes = kernel.routes.filter(
    (route) => route.isOurs && !wanted.has(routeKey(route)) && !returning.has(routeKey(route)),
  )
  return { makes, displaces, givesBack, removes, waits }
}
