import { createHash } from 'node:crypto'
import { parsePorts } from '../../model/ports.ts'
import type { Served } from './services.ts'

export const TABLE = 'fulcrum'
const IN_TABLE = `inet ${TABLE}`
/** Maps from moved clients to marks, by address family; kept when services change. */
export const MOVED = { 4: 'moved4', 6: 'moved6' } as const

const HEAD = '# Written by Fulcrum; changes to this file are lost. Use the API instead.'

/** Commands for no rules at all: idempotent, like every run of a whole file. */
export const NO_MARKS = `${HEAD}\nadd table ${IN_TABLE}\ndelete table ${IN_TABLE}\n`

/**
 * Renders the file for nft, which applies it as one transaction: packets to the ports of a frontend get its mark, those
 * of a moved client another one. The maps of services are named after their contents, and the rules switch from one map
 * to the next: a map that is emptied and refilled, even in one transaction, lacks its elements for moments (seen in
 * Linux 6.1). The maps of moved clients stay.
 */
export function renderMarks(all: readonly Served[]): string {
  const marked = all.filter(({ marks }) => marks.length > 0)
  const translates = all.some(({ frontend }) => frontend.forwarding === 'masq')
  if (marked.length === 0 && !translates) return NO_MARKS
  const lines = [
    HEAD,
    `add table ${IN_TABLE}`,
    // Before connection tracking, which must see the same ports as IPVS.
    ...chain('prerouting', 'raw'),
    // Connections of this machine itself.
    ...chain('output', 'raw'),
    // After IPVS: replies to others, and to this machine itself.
    ...chain('postrouting', '150'),
    ...chain('input', '150'),
    ...(translates ? NO_REDIRECTS : []),
    ...(marked.length === 0 ? [] : ([4, 6] as const).flatMap((family) => familyLines(marked, family))),
  ]
  return `${lines.join('\n')}\n`
}

/**
 * Where the next router is in the subnet of the real servers, the kernel tells them to send replies to it directly. The
 * node would no longer translate those replies, and connections would hang (seen in Linux 6.1).
 */
const NO_REDIRECTS = ['icmp type redirect', 'icmpv6 type nd-redirect'].map(
  (packets) => `add rule ${IN_TABLE} output ${packets} drop`,
)

const chain = (hook: string, priority: string): readonly string[] => [
  `add chain ${IN_TABLE} ${hook} { type filter hook ${hook} priority ${priority} ; policy accept ; }`,
  `flush chain ${IN_TABLE} ${hook}`,
]

function familyLines(marked: readonly Served[], family: 4 | 6): readonly string[] {
  const own = marked.filter(({ frontend }) => frontend.ip.includes(':') === (family === 6))
  const rewritten = own.flatMap(({ frontend: { ip, protocol }, firstPort, rewrittenPort: port }) =>
    port === undefined ? [] : [{ ip, protocol, firstPort, port }],
  )
  const services = map('services', family, 'mark', elements(own))
  const there = map(
    'there',
    family,
    'inet_service',
    rewritten.map(({ ip, protocol, firstPort, port }) => `${ip} . ${protocol} . ${firstPort} : ${port}`),
  )
  const back = map(
    'back',
    family,
    'inet_service',
    rewritten.map(({ ip, protocol, firstPort, port }) => `${ip} . ${protocol} . ${port} : ${firstPort}`),
  )
  const ip = family === 4 ? 'ip' : 'ip6'
  const rule = (hook: string, text: string): string => `add rule ${IN_TABLE} ${hook} ${text}`
  return [
    ...(rewritten.length === 0 ? [services] : [services, there, back]).flatMap(({ lines }) => lines),
    `add map ${IN_TABLE} ${MOVED[family]} { type ipv${family}_addr . mark : mark ; flags interval ; }`,
    ...['prerouting', 'output'].flatMap((hook) => [
      rule(hook, `meta mark set ${ip} daddr . meta l4proto . th dport map @${services.name}`),
      rule(hook, `meta mark set ${ip} saddr . meta mark map @${MOVED[family]}`),
    ]),
    ...(rewritten.length === 0 ? [] : ['tcp', 'udp']).flatMap((protocol) => [
      ...['prerouting', 'output'].map((hook) =>
        rule(hook, `${protocol} dport set ${ip} daddr . meta l4proto . ${protocol} dport map @${there.name}`),
      ),
      ...['postrouting', 'input'].map((hook) =>
        rule(hook, `${protocol} sport set ${ip} saddr . meta l4proto . ${protocol} sport map @${back.name}`),
      ),
    ]),
  ]
}

/**
 * Returns the commands that remove the maps of one file that another does not use; without any marks the whole table is
 * removed.
 */
export function goneMaps(before: string, after: string): readonly string[] {
  // They are removed with their table.
  if (after === NO_MARKS) return []
  const names = (text: string) => new Set(text.match(/\b(?:services|there|back)[46]_[\da-f]+/g))
  const kept = names(after)
  return [...names(before)].filter((name) => !kept.has(name)).map((name) => `delete map ${IN_TABLE} ${name}`)
}

function map(
  kind: string,
  family: 4 | 6,
  value: string,
  entries: readonly string[],
): { readonly name: string; readonly lines: readonly string[] } {
  const hash = createHash('sha256').update(entries.join()).digest('hex').slice(0, 12)
  const name = `${kind}${family}_${hash}`
  const type = `type ipv${family}_addr . inet_proto . inet_service : ${value} ; flags interval ;`
  return {
    name,
    lines: [
      `add map ${IN_TABLE} ${name} { ${type} }`,
      ...(entries.length === 0 ? [] : [`add element ${IN_TABLE} ${name} { ${entries.join(', ')} }`]),
    ],
  }
}

function elements(marked: readonly Served[]): readonly string[] {
  return marked.flatMap(({ frontend: { ip, protocol, ports }, marks }) =>
    (parsePorts(ports) ?? []).map(({ first, last }) => {
      const range = first === last ? `${first}` : `${first}-${last}`
      return `${ip} . ${protocol} . ${range} : ${marks[0] ?? 0}`
    }),
  )
}
