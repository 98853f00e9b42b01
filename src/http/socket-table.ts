import { createReadStream, existsSync } from 'node:fs'

/** The kernel's lists for this network namespace; the second is absent if the kernel was started without IPv6. */
const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6']
/** Established, or closed by the other side only: the states in which we still hold the descriptor. */
const HELD = new Set(['01', '08'])
const LINE = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} ([0-9A-F]{2}) /
const IPV4_IN_IPV6 = '00000000000000000000ffff'

/** Returns how many connections each address holds to our `ports`. Reads the lists in small parts. */
export async function socketsByPlace(
  ports: ReadonlySet<number>,
  tables: readonly string[] = TABLES,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const table of tables) {
    if (!existsSync(table)) continue
    let rest = ''
    for await (const chunk of createReadStream(table, 'latin1')) {
      const lines = `${rest}${String(chunk)}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const [, port = '', remote = '', state = ''] = LINE.exec(line) ?? []
        if (!HELD.has(state) || !ports.has(Number.parseInt(port, 16))) continue
        const place = placeOfHex(swapped(remote))
        counts.set(place, (counts.get(place) ?? 0) + 1)
      }
    }
  }
  return counts
}

/** Returns the client an address stands for: an IPv4 address, also if mapped into IPv6, or an IPv6 /64. */
export const placeOfBytes = (address: Uint8Array): string => placeOfHex(Buffer.from(address).toString('hex'))

function placeOfHex(hex: string): string {
  if (hex.length === 8) return hex
  return hex.startsWith(IPV4_IN_IPV6) ? hex.slice(IPV4_IN_IPV6.length) : hex.slice(0, 16)
}

/** The kernel prints each four bytes as a number in host byte order. */
function swapped(words: string): string {
  const bytes = Buffer.from(words, 'hex')
  return bytes.swap32().toString('hex')
}
