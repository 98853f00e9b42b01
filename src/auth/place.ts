import { networkOf, networkText, parseIp } from '../base/ip-network.ts'

/**
 * Where an attempt comes from. Whoever has an IPv6 network has eighteen trillion addresses of it: they count as one.
 * IPv4 inside IPv6 is one address.
 */
export function placeOf(address: string, prefix = 64): string {
  const ip = parseIp(address)
  if (ip?.family !== 6 || ip.value >> 32n === 0xffffn) return address
  return networkText(networkOf({ ...ip, prefix }))
}

/** Whoever shares a queue: a whole site, to which networks of 64 bits cost nothing (RFC 6177 gives it 48). */
export const siteOf = (address: string): string => placeOf(address, 48)
