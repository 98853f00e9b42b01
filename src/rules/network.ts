import { type FieldProblem, problemIn } from '../base/errors.ts'
import { isId } from '../base/ids.ts'
import type { NetworkInterface } from '../model/machine-facts.ts'
import type { IpGroup, IpRoute } from '../model/network.ts'
import {
  contains,
  fullPrefix,
  type Network,
  networkOf,
  networkText,
  parseIp,
  parseNetwork,
  reservedAddress,
} from '../base/ip-network.ts'
import { lazy } from '../base/lazy.ts'

/** Returns a test for whether an address is in one of these networks. */
function within(...texts: readonly string[]): (ip: Network) => boolean {
  const networks = lazy(() => texts.flatMap((text) => parseNetwork(text) ?? []))
  return (ip) => networks().some((network) => contains(network, ip))
}

const isNobody = within('0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/3', '::/128', '::1/128', 'ff00::/8')
const isLinkLocal = within('fe80::/10')
/** IPv4-mapped IPv6 addresses, as programs see them on dual-stack sockets. */
const isMapped = within('::ffff:0:0/96')

type GroupFields = Pick<IpGroup, 'networkIp' | 'networkMask' | 'gateway' | 'defaultGateway'>

/** Returns the subnet of a group; undefined if it has none or an invalid one. */
export function subnetOf({ networkIp, networkMask }: Pick<IpGroup, 'networkIp' | 'networkMask'>): Network | undefined {
  return networkIp === '' || networkMask === 0 ? undefined : parseNetwork(`${networkIp}/${networkMask}`)
}

/**
 * Returns the problems of a group, without looking at other records. Checked when it is sent and again before it is
 * applied, as everything in this file.
 */
export function groupProblems(group: GroupFields): FieldProblem[] {
  const problems = subnetProblems(group)
  const { gateway, defaultGateway } = group
  if (gateway === '') {
    return defaultGateway ? [...problems, problemIn('gateway', 'is required for a default gateway')] : problems
  }
  const found = gatewayProblems(gateway, subnetOf(group), problems.length > 0)
  return [...problems, ...found.map((message) => problemIn('gateway', message))]
}

function subnetProblems({ networkIp, networkMask }: GroupFields): FieldProblem[] {
  const problem = (field: string, message: string): FieldProblem[] => [problemIn(field, message)]
  if (networkIp === '') return networkMask === 0 ? [] : problem('networkIp', 'is required with networkMask')
  const base = parseIp(networkIp)
  if (base === undefined) return problem('networkIp', 'must be an IPv4 or IPv6 address')
  if (networkMask === 0) return problem('networkMask', 'is required with networkIp, at least 1')
  if (networkMask > fullPrefix(base.family)) {
    return problem('networkMask', `must be 1 to ${fullPrefix(base.family)} for IPv${base.family}`)
  }
  const network = networkOf({ ...base, prefix: networkMask })
  if (network.value === base.value) return []
  return problem('networkIp', `is an address in the network ${networkText(network)}, not its network address`)
}

function gatewayProblems(gateway: string, subnet: Network | undefined, isUnclear: boolean): string[] {
  const ip = parseIp(gateway)
  if (ip === undefined) return ['must be an IPv4 or IPv6 address']
  if (isNobody(ip)) return ['cannot be the address of a router']
  if (isUnclear) return []
  if (subnet === undefined) return ['needs networkIp and networkMask, the network that contains it']
  if (!contains(subnet, ip)) return [`is not in the network ${networkText(subnet)}`]
  const reserved = reservedAddress(subnet, ip)
  return reserved === undefined ? [] : [`is the ${reserved} address of ${networkText(subnet)}`]
}

/** Returns the problems of an address in its group. */
export function addressProblems(text: string, group: IpGroup): FieldProblem[] {
  const ip = parseIp(text)
  const problem = (message: string): FieldProblem[] => [problemIn('ip', message)]
  if (ip === undefined) return problem('must be an IPv4 or IPv6 address')
  if (isNobody(ip)) return problem('cannot be the address of a machine')
  if (isLinkLocal(ip)) {
    return problem('is a link-local address (fe80::/10), which the kernel itself assigns to each interface')
  }
  if (isMapped(ip)) {
    return problem('is an IPv4 address in IPv6 notation (::ffff:0:0/96); write it as IPv4')
  }
  const subnet = subnetOf(group)
  if (subnet === undefined) return []
  if (!contains(subnet, ip)) {
    return problem(`is not in ${networkText(subnet)}, the network of the IP group ${group.name}`)
  }
  const reserved = reservedAddress(subnet, ip)
  if (reserved !== undefined) return problem(`is the ${reserved} address of ${networkText(subnet)}`)
  return parseIp(group.gateway)?.value === ip.value ? problem('is the gateway of its IP group') : []
}

type RouteFields = Pick<IpRoute, 'type' | 'destination' | 'source' | 'viaIp' | 'interface'>
type Presence = 'needed' | 'optional' | 'none'

/** The fields of a route, by type. `hop` is viaIp or interface. */
const FIELDS: Readonly<Record<IpRoute['type'], Readonly<Record<'destination' | 'source' | 'hop', Presence>>>> = {
  default: { destination: 'none', source: 'none', hop: 'needed' },
  static: { destination: 'needed', source: 'none', hop: 'needed' },
  policy: { destination: 'optional', source: 'needed', hop: 'needed' },
  blackhole: { destination: 'needed', source: 'none', hop: 'none' },
}

export function routeProblems(route: RouteFields): FieldProblem[] {
  const problems: FieldProblem[] = []
  const add = (field: string, message: string) => problems.push(problemIn(field, message))
  const rules = FIELDS[route.type]
  for (const field of ['destination', 'source'] as const) {
    if (rules[field] === 'needed' && route[field] === '') add(field, `is required for a ${route.type} route`)
    if (rules[field] === 'none' && route[field] !== '') add(field, `is not allowed for a ${route.type} route`)
    for (const message of networkProblems(route[field])) add(field, message)
  }
  if (rules.hop === 'needed' && route.viaIp === '' && route.interface === '') {
    add('viaIp', `or interface is required for a ${route.type} route`)
  }
  for (const field of ['viaIp', 'interface'] as const) {
    if (rules.hop === 'none' && route[field] !== '') add(field, `is not allowed for a ${route.type} route`)
  }
  problems.push(...hopProblems(route))
  return problems
}

function networkProblems(text: string): string[] {
  if (text === '') return []
  const network = parseNetwork(text)
  if (network === undefined) return ['must be a network such as 10.0.0.0/8, or one address']
  const base = networkOf(network)
  return base.value === network.value
    ? []
    : [`has bits set after its prefix length; the network is ${networkText(base)}`]
}

function hopProblems(route: RouteFields): FieldProblem[] {
  const { viaIp } = route
  const via = viaIp === '' ? undefined : parseIp(viaIp)
  const problems = sameFamily(route, via)
  if (viaIp === '') return problems
  if (via === undefined) return [...problems, problemIn('viaIp', 'must be an IPv4 or IPv6 address')]
  if (isNobody(via)) problems.push(problemIn('viaIp', 'cannot be the address of a router'))
  if (route.interface === '' && isLinkLocal(via)) {
    problems.push(problemIn('interface', `is required: ${viaIp} is valid on one interface only`))
  }
  return problems
}

function sameFamily({ destination, source }: RouteFields, via: Network | undefined): FieldProblem[] {
  const families = [
    { field: 'destination', family: parseNetwork(destination)?.family },
    { field: 'source', family: parseNetwork(source)?.family },
    { field: 'viaIp', family: via?.family },
  ].filter(({ family }) => family !== undefined)
  const [first] = families
  const other = families.find(({ family }) => family !== first?.family)
  if (first === undefined || other === undefined) return []
  return [problemIn(other.field, `is IPv${other.family}, but ${first.field} is IPv${first.family}`)]
}

/** Returns the id of an interface given by id or name; if the interfaces are unknown, only an id is accepted. */
export function interfaceIdOf(
  wanted: InterfaceWanted,
  interfaces: readonly NetworkInterface[] | undefined,
): string | undefined {
  const [text, isName] = [textOf(wanted), typeof wanted === 'object']
  if (interfaces === undefined) return !isName && isId(text) ? text : undefined
  return interfaces.find(({ id, name }) => (!isName && id === text) || name === text)?.id
}

export type InterfaceWanted = string | { readonly name: string }

export const textOf = (wanted: InterfaceWanted): string => (typeof wanted === 'object' ? wanted.name : wanted)

/** Returns the interface that already has an address in this subnet. */
export function interfaceIn(subnet: Network, interfaces: readonly NetworkInterface[]): string | undefined {
  return interfaces.find(({ addresses }) =>
    addresses.some(({ ip }) => {
      const address = parseIp(ip)
      return address !== undefined && contains(subnet, address)
    }),
  )?.id
}
