import type { NetworkInterface } from '../../../src/model/machine-facts.ts'
import { nameBasedId } from '../../../src/base/ids.ts'
import { canonicalIp } from '../../../src/base/ip-network.ts'

/** The fields of an interface in `ip -j -d address show` that are read here. */
export interface RawLink {
  readonly ifname: string
  readonly flags?: readonly string[]
  readonly mtu?: number
  readonly operstate?: string
  readonly address?: string
  readonly permaddr?: string
  readonly linkinfo?: { readonly info_kind?: string }
  readonly addr_info?: readonly RawAddress[]
}
export interface RawAddress {
  readonly family?: string
  readonly local?: string
  readonly prefixlen?: number
  readonly scope?: string
  readonly secondary?: boolean
}

export interface Link {
  readonly id: string
  readonly name: string
  readonly isUp: boolean
  readonly raw: RawLink
}

const STATES: Readonly<Record<string, NetworkInterface['state']>> = { UP: 'up', UNKNOWN: 'unknown' }
/** Scope of addresses that are valid only on their link, by name and by number. */
const LINK_SCOPES: ReadonlySet<string> = new Set(['link', '253'])

/** Parses JSON of iproute2; other output is one of its error messages. */
export function parsedJson<T>(output: string): readonly T[] {
  if (output.trim() === '') return []
  const start = output.indexOf('[')
  if (start === -1) throw new Error(output)
  // The shape is iproute2's; every field that may be absent is optional.
  const parsed = JSON.parse(output.slice(start)) as readonly (T | Record<string, never>)[]
  // Older versions return an empty object for nothing.
  return parsed.filter((entry): entry is T => Object.keys(entry as object).length > 0)
}

/** Returns every interface but loopback, with an id that survives reboots. */
export function linksOf(raws: readonly RawLink[]): readonly Link[] {
  const shown = raws.filter(({ flags = [] }) => !flags.includes('LOOPBACK'))
  const counts = new Map<string, number>()
  for (const raw of shown) counts.set(keyOf(raw), (counts.get(keyOf(raw)) ?? 0) + 1)
  return shown.map((raw) => {
    const key = keyOf(raw)
    // Two cards with the same hardware address are distinguished by name.
    const id = nameBasedId(counts.get(key) === 1 ? key : `${key} ${raw.ifname}`)
    return { id, name: nameOf(raw), isUp: raw.flags?.includes('UP') === true, raw }
  })
}

/**
 * The permanent address of a card follows it to another name or slot; interfaces on top of a card borrow its address.
 */
function keyOf(raw: RawLink): string {
  const kind = raw.linkinfo?.info_kind
  const mac = raw.permaddr ?? raw.address ?? ''
  const isCard = (kind === undefined || kind === 'veth') && /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(mac)
  return isCard ? `interface mac ${mac}` : `interface ${kind ?? 'plain'} ${raw.ifname}`
}

/** Without the part after @ that other views show. */
const nameOf = ({ ifname }: RawLink): string => ifname.split('@')[0] ?? ifname

/** Returns the addresses that are valid beyond their link. */
export function globalAddresses({ addr_info = [] }: RawLink): readonly RawAddress[] {
  return addr_info.filter(({ scope = '', family }) => family !== 'inet6' || !LINK_SCOPES.has(scope))
}

export function interfaceOf({ id, name, raw }: Link): NetworkInterface {
  return {
    id,
    name,
    mac: raw.address ?? '',
    mtu: raw.mtu ?? 0,
    state: STATES[raw.operstate ?? ''] ?? 'down',
    addresses: globalAddresses(raw).flatMap(({ local, prefixlen }) =>
      local === undefined || prefixlen === undefined ? [] : [{ ip: canonicalIp(local), prefix: prefixlen }],
    ),
  }
}
