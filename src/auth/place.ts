import { networkOf, networkText, parseIp } from '../base/ip-network.ts'

/**
 * Where an attempt comes from. An IPv6 network has eighteen trillion addresses: they count as one. IPv4 inside IPv6 is
 * one address.
 */
export function placeOf(address: string, prefix = 64): string {
  const ip = parseIp(address)
  if (ip?.family !== 6 || ip.value >> 32n === 0xffffn) return address
  return networkText(networkOf({ ...ip, prefix }))
}

/** Everybody who shares a queue: a whole site, which gets networks of 64 bits for free (RFC 6177 gives it 48). */
export const siteOf = (address: string): string => placeOf(address, 48)
