import { existsSync } from 'node:fs'
import { canonicalIp, canonicalNetwork, familyOf } from '../../../src/base/ip-network.ts'
import type { Run } from '../managed-program.ts'
import { type Link, linksOf, parsedJson, type RawLink } from './links.ts'

export type Family = 4 | 6
export const FAMILIES = [4, 6] as const

/** Protocol number that marks routes and rules as this daemon's in the kernel. */
export const PROTOCOL = 70
export const MAIN_TABLE = 254
const KERNEL_PROTOCOL = '2'

export interface KernelAddress {
  readonly link: string
  readonly linkId: string
  readonly ip: string
  readonly prefix: number
}
export interface KernelRoute {
  readonly family: Family
  readonly table: number
  readonly destination: string
  readonly metric: number
  /** The daemon makes unicast and blackhole routes; other types are only read. */
  readonly type: string
  readonly via: string | undefined
  readonly device: string | undefined
}
export interface KernelRule {
  readonly family: Family
  readonly priority: number
  /** undefined: every source. */
  readonly from: string | undefined
  readonly to: string | undefined
  readonly table: number
  readonly suppressPrefixLength: number | undefined
}
type Owned = { readonly isOurs: boolean }
/** The kernel adds and removes such a route together with its address. */
type Made = { readonly isKernels: boolean }

/** The part of the kernel that is compared: all addresses, routes and rules, with their owners. */
export interface KernelState {
  readonly links: readonly Link[]
  /** In the kernel's order; the kernel prefers the first IPv4 address of a subnet. */
  readonly addresses: readonly (KernelAddress & { readonly isSecondary: boolean })[]
  readonly routes: readonly (KernelRoute & Owned & Made)[]
  readonly rules: readonly (KernelRule & Owned)[]
  /** Addresses that foreign routes name as their source: those routes disappear with them. */
  readonly sources: ReadonlySet<string>
}

interface RawRoute {
  readonly type?: string
  readonly dst?: string
  readonly gateway?: string
  readonly dev?: string
  readonly table?: string
  readonly protocol?: string
  readonly metric?: number
  readonly tos?: string
  readonly prefsrc?: string
}
interface RawRule {
  readonly priority?: number
  readonly src?: string
  readonly srclen?: number
  readonly dst?: string
  readonly dstlen?: number
  readonly table?: string
  readonly suppress_prefixlen?: number
  readonly protocol?: string
}

/** Route types by number, as `-N` shows them. */
const TYPES: Readonly<Record<string, string>> = { 1: 'unicast', 6: 'blackhole' }
const RULE_FIELDS: ReadonlySet<string> = new Set([
  'priority',
  'src',
  'srclen',
  'dst',
  'dstlen',
  'table',
  'suppress_prefixlen',
  'protocol',
])
/** Missing where the kernel was started without IPv6 (`ipv6.disable=1`); `ip` cannot query IPv6 there. */
const IPV6_FILE = '/proc/net/if_inet6'
/** Enough for hundreds of foreign addresses and routes. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

export class UnreadableKernel extends Error {
  readonly exitCode: number
  constructor(exitCode: number, output: string) {
    super(output === '' ? `ip ended with exit code ${exitCode}` : output)
    this.exitCode = exitCode
  }
}

async function shown<T>(run: Run, timeout_ms: number, ...words: readonly string[]): Promise<readonly T[]> {
  const argv = ['ip', '-j', '-N', ...words]
  const { exitCode, output } = await run(argv, timeout_ms, { output_max: OUTPUT_BYTES_MAX })
  if (exitCode !== 0) throw new UnreadableKernel(exitCode, output)
  return parsedJson<T>(output)
}

/** Reads everything at once. Throws UnreadableKernel when iproute2 fails. */
export async function readKernel(run: Run, timeout_ms: number, ipv6File = IPV6_FILE): Promise<KernelState> {
  const isKnown = (family: Family) => family === 4 || existsSync(ipv6File)
  const ofFamily = async <T>(family: Family, ...words: readonly string[]) =>
    isKnown(family) ? await shown<T>(run, timeout_ms, `-${family}`, ...words) : []
  const [raws, routes4, routes6, rules] = await Promise.all([
    shown<RawLink>(run, timeout_ms, '-d', 'address', 'show'),
    ofFamily<RawRoute>(4, 'route', 'show', 'table', 'all'),
    ofFamily<RawRoute>(6, 'route', 'show', 'table', 'all'),
    Promise.all(
      FAMILIES.map(async (family) =>
        (await ofFamily<RawRule>(family, 'rule', 'show')).flatMap((raw) => ruleOf(raw, family)),
      ),
    ),
  ])
  const links = linksOf(raws)
  const routes = [...routes4.flatMap((raw) => routeOf(raw, 4)), ...routes6.flatMap((raw) => routeOf(raw, 6))]
  const sources = new Set([...routes4, ...routes6].flatMap(sourceOf))
  return { links, addresses: links.flatMap(addressesOf), routes, rules: rules.flat(), sources }
}

function sourceOf({ protocol, prefsrc }: RawRoute): readonly string[] {
  // Routes that the kernel made for an address return with it.
  const isMade = protocol === String(PROTOCOL) || protocol === KERNEL_PROTOCOL
  return isMade || prefsrc === undefined ? [] : [canonicalIp(prefsrc)]
}

function addressesOf({ id, name, raw }: Link): KernelState['addresses'] {
  // Includes link-local addresses: one that was added by mistake can be removed only if it is seen.
  return (raw.addr_info ?? []).flatMap(({ local, prefixlen, secondary = false }) =>
    local === undefined || prefixlen === undefined
      ? []
      : [{ link: name, linkId: id, ip: canonicalIp(local), prefix: prefixlen, isSecondary: secondary }],
  )
}

function routeOf(raw: RawRoute, family: Family): KernelState['routes'] {
  // A route for one type of service exists beside the one for all, and conflicts with none.
  if (raw.dst === undefined || raw.tos !== undefined) return []
  const type = TYPES[raw.type ?? '1'] ?? raw.type ?? ''
  const isUnicast = type === 'unicast'
  return [
    {
      family,
      table: Number(raw.table ?? MAIN_TABLE),
      destination: raw.dst === 'default' ? anywhere(family) : canonicalNetwork(raw.dst),
      metric: raw.metric ?? 0,
      type,
      via: isUnicast && raw.gateway !== undefined ? canonicalIp(raw.gateway) : undefined,
      device: isUnicast ? raw.dev : undefined,
      isOurs: raw.protocol === String(PROTOCOL),
      isKernels: raw.protocol === KERNEL_PROTOCOL,
    },
  ]
}

export const anywhere = (family: Family): string => (family === 4 ? '0.0.0.0/0' : '::/0')

function ruleOf(raw: RawRule, family: Family): KernelState['rules'] {
  // A rule with further conditions, such as a mark or an interface, is another rule.
  if (Object.keys(raw).some((field) => !RULE_FIELDS.has(field))) return []
  const network = (ip: string | undefined, length: number | undefined) =>
    ip === undefined || ip === 'all' ? undefined : canonicalNetwork(length === undefined ? ip : `${ip}/${length}`)
  return [
    {
      family,
      priority: raw.priority ?? 0,
      from: network(raw.src, raw.srclen),
      to: network(raw.dst, raw.dstlen),
      table: Number(raw.table ?? 0),
      suppressPrefixLength: raw.suppress_prefixlen,
      isOurs: raw.protocol === String(PROTOCOL),
    },
  ]
}

/** Key of a route; two routes with the same key exclude each other in the kernel. */
export const routeKey = ({ family, table, destination, metric }: Omit<KernelRoute, 'type' | 'via' | 'device'>) =>
  `${family} ${table} ${destination} ${metric}`
export const routeText = (route: KernelRoute): string =>
  `${routeKey(route)} ${route.type} ${route.via ?? ''} ${route.device ?? ''}`
export const ruleText = ({ family, priority, from, to, table, suppressPrefixLength }: KernelRule): string =>
  [family, priority, from ?? 'all', to ?? 'all', table, suppressPrefixLength ?? ''].join(' ')
export const addressText = ({ linkId, ip, prefix }: Omit<KernelAddress, 'link'>): string => `${linkId} ${ip}/${prefix}`
export const familyOfAddress = ({ ip }: Pick<KernelAddress, 'ip'>): Family => familyOf(ip)
