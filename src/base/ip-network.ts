import { isIP } from 'node:net'

/** Arithmetic of addresses and networks of both families. Texts are compared in their shortest form only. */
export interface Network {
  readonly family: 4 | 6
  /** The address as one number, host part included. */
  readonly value: bigint
  readonly prefix: number
}

const BITS = { 4: 32, 6: 128 } as const
const GROUPS = 8

/** Parses an address, optionally with a prefix length after a slash; undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', length, ...rest] = text.split('/')
  const family = isIP(address)
  if ((family !== 4 && family !== 6) || rest.length > 0 || address.includes('%')) return undefined
  if (length !== undefined && !/^\d{1,3}$/.test(length)) return undefined
  const prefix = length === undefined ? BITS[family] : Number(length)
  if (prefix > BITS[family]) return undefined
  return { family, value: family === 4 ? valueOf4(address) : valueOf6(address), prefix }
}

/** Parses an address without a prefix length; undefined for anything else. */
export function parseIp(text: string): Network | undefined {
  return text.includes('/') ? undefined : parseNetwork(text)
}

function valueOf4(text: string): bigint {
  return text.split('.').reduce((value, part) => value * 256n + BigInt(part), 0n)
}

function valueOf6(text: string): bigint {
  const dotted = /[\d.]+$/.exec(text)?.[0] ?? ''
  const plain = dotted.includes('.') ? text.slice(0, -dotted.length) + hexOf4(dotted) : text
  const [head = '', tail] = plain.split('::')
  const groups = (part: string | undefined) => (part === undefined || part === '' ? [] : part.split(':'))
  const [first, last] = [groups(head), groups(tail)]
  const middle = tail === undefined ? [] : Array.from({ length: GROUPS - first.length - last.length }, () => '0')
  return [...first, ...middle, ...last].reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n)
}

function hexOf4(text: string): string {
  const value = valueOf4(text)
  return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
}

function ipText({ family, value }: Pick<Network, 'family' | 'value'>): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
  const groups = Array.from({ length: GROUPS }, (_, index) => (value >> BigInt(112 - 16 * index)) & 0xffffn)
  const text = groups.map((group) => group.toString(16)).join(':')
  // The longest run of two or more zero groups, the first of equally long ones.
  const runs = [...text.matchAll(/(?<![^:])0(?::0)+(?![^:])/g)]
  const longest = runs.reduce((best, [run]) => (run.length > best.length ? run : best), '')
  if (longest === '') return text
  const at = runs.find(([run]) => run === longest)?.index ?? 0
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`
}

/** Returns the network of an address: its host part is zero. */
export function networkOf({ family, value, prefix }: Network): Network {
  const host = BigInt(BITS[family] - prefix)
  return { family, value: (value >> host) << host, prefix }
}

/** Returns the shortest form of an address; any other text is returned unchanged. */
export function canonicalIp(text: string): string {
  const ip = parseIp(text)
  return ip === undefined ? text : ipText(ip)
}

const MAPPED = /^(?:::ffff:|0000:0000:0000:0000:0000:ffff:)(?=\d+\.)/i

/** Returns a client's address as the client knows it: a dual-stack socket shows IPv4 addresses as IPv6. */
export const clientIp = (text: string): string => canonicalIp(text.replace(MAPPED, ''))

/**
 * Returns network and prefix length in the shortest form, such as 10.0.0.0/8; a single address gets its full length.
 */
export function canonicalNetwork(text: string): string {
  const network = parseNetwork(text)
  return network === undefined ? text : networkText(networkOf(network))
}

export function networkText(network: Network): string {
  return `${ipText(network)}/${network.prefix}`
}

/** Returns whether `inner` lies completely in `outer`. */
export function contains(outer: Network, inner: Network): boolean {
  if (outer.family !== inner.family || outer.prefix > inner.prefix) return false
  return networkOf(outer).value === networkOf({ ...inner, prefix: outer.prefix }).value
}

/** Returns the address whose network contains `hop`, the narrowest network if several do. */
export function nearestTo<T extends { readonly ip: string; readonly prefix: number }>(
  hop: Network,
  addresses: readonly T[],
): T | undefined {
  let nearest: T | undefined
  for (const address of addresses) {
    const network = parseNetwork(`${address.ip}/${address.prefix}`)
    if (network === undefined || !contains(network, hop)) continue
    if (nearest === undefined || address.prefix > nearest.prefix) nearest = address
  }
  return nearest
}

/** Returns which reserved address of the network it is, if any; point-to-point networks and IPv6 have none. */
export function reservedAddress(network: Network, ip: Network): 'network' | 'broadcast' | undefined {
  if (network.family === 6 || network.prefix >= 31) return undefined
  const { value } = networkOf(network)
  if (ip.value === value) return 'network'
  return ip.value === value + (1n << BigInt(BITS[4] - network.prefix)) - 1n ? 'broadcast' : undefined
}

export const fullPrefix = (family: 4 | 6): number => BITS[family]
export const familyOf = (text: string): 4 | 6 => (text.includes(':') ? 6 : 4)
