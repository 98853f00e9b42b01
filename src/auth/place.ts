import { networkOf, networkText, parseIp } from '../base/ip-network.ts'

/**
 * Returns the origin of an attempt. An IPv6 /64 has eighteen quintillion addresses, which count as one. An IPv4-mapped
 * IPv6 address counts as a single address.
 */
export function placeOf(address: string, prefix = 64): string {
  const ip = parseIp(address)
  if (ip?.family !== 6 || ip.value >> 32n === 0xffffn) return address
  return networkText(networkOf({ ...ip, prefix }))
}

/** Returns the place that shares a queue: a whole site, which can use many /64 networks (RFC 6177 gives it a /48). */
export const siteOf = (address: string): string => placeOf(address, 48)
