/** Addresses have passed the `Ip` schema, so a colon means IPv6. */
export function isIpv6(ip: string): boolean {
  return ip.includes(':')
}

/** Returns the canonical spelling of an address: `::0001` and `::1` are the same. */
export function canonicalIp(ip: string): string {
  return isIpv6(ip) && URL.canParse(`http://[${ip}]`) ? new URL(`http://[${ip}]`).hostname.slice(1, -1) : ip
}

/** Whether an address stands for all addresses of its family. */
export function isWildcard(ip: string): boolean {
  return ip === '0.0.0.0' || canonicalIp(ip) === '::'
}

/** Returns the spellings that the C library may print: IPv6 addresses with an IPv4 part have a dotted one as well. */
export function printedIps(ip: string): readonly string[] {
  const canonical = canonicalIp(ip)
  const match = /^::(ffff:)?([\da-f]{1,4}):([\da-f]{1,4})$/.exec(canonical)
  if (match === null) return [canonical]
  const [high, low] = [match[2], match[3]].map((group) => Number.parseInt(group ?? '0', 16))
  const bytes = [(high ?? 0) >> 8, (high ?? 0) & 255, (low ?? 0) >> 8, (low ?? 0) & 255]
  return [canonical, `::${match[1] ?? ''}${bytes.join('.')}`]
}

/** Returns why a frontend can never listen on this address; undefined when it could. */
export function whyUnusable(ip: string): string | undefined {
  const canonical = canonicalIp(ip)
  if (canonical === '255.255.255.255') return 'it is the broadcast address'
  if (isIpv6(canonical) ? canonical.startsWith('ff') : isMulticast(canonical)) return 'it is a multicast address'
  // HAProxy would occupy the port of the IPv4 address, unseen by the rules about port clashes.
  if (canonical.startsWith('::ffff:')) return 'it is an IPv4 address inside IPv6; write it as IPv4'
  return undefined
}

function isMulticast(ipv4: string): boolean {
  const first = Number.parseInt(ipv4, 10)
  return first >= 224 && first <= 239
}
