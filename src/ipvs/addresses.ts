import { canonicalIp, parseIp } from '../base/ip-network.ts'
import { AF_INET, AF_INET6, MARK_BIT, PROTOCOL } from './protocol.ts'

/** Four 32-bit words; an IPv4 address is in the first of them. */
export function addressWords(ip: string): { readonly family: number; readonly words: readonly number[] } {
  const parsed = parseIp(ip)
  if (parsed === undefined) throw new RangeError(`${ip} is not an address`)
  if (parsed.family === 4) return { family: AF_INET, words: [Number(parsed.value), 0, 0, 0] }
  const words = [96n, 64n, 32n, 0n].map((shift) => Number((parsed.value >> shift) & 0xff_ff_ff_ffn))
  return { family: AF_INET6, words }
}

/** Returns the table's key of the service with an address and port. */
export function serviceKey(protocol: keyof typeof PROTOCOL, ip: string, port: number): string {
  const { family, words } = addressWords(ip)
  return [(family | (PROTOCOL[protocol] << 8)) >>> 0, port, ...words].join('.')
}

export function markKey(ip: string, mark: number): string {
  return [(addressWords(ip).family | MARK_BIT) >>> 0, mark >>> 0, 0, 0, 0, 0].join('.')
}

export function destKey(ip: string, port: number): string {
  const { family, words } = addressWords(ip)
  return [family, port, ...words].join('.')
}

/** Returns the address in its shortest form. */
export function addressOfWords(family: number, words: ArrayLike<number>): string {
  if (family === AF_INET) return dotted(words[0] ?? 0)
  const groups = Array.from({ length: 4 }, (_, index) => words[index] ?? 0)
  return canonicalIp(groups.map((word) => `${(word >>> 16).toString(16)}:${(word & 0xff_ff).toString(16)}`).join(':'))
}

/** `mask` is as the kernel sent it: in network byte order for IPv4, a prefix length for IPv6. */
export function dottedMask(family: number, mask: number): string {
  if (family !== AF_INET) return String(mask)
  return [0, 8, 16, 24].map((shift) => (mask >>> shift) & 255).join('.')
}

function dotted(word: number): string {
  return [24, 16, 8, 0].map((shift) => (word >>> shift) & 255).join('.')
}
