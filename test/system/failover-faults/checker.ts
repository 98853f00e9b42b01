import { type Edit, type Floating, FLOATING, type Gap, type Outcome } from './lines.ts'

/** Checks whether the answers, the final records of the nodes and the holders of addresses agree. */

export interface Edited {
  readonly edit: Edit
  /** Undefined: the edit was begun, and its outcome is unknown. */
  readonly outcome?: Outcome
  /** For people. */
  readonly why?: string
}

const ABSENT = 'not there'
const shown = (port: number | undefined) => (port === undefined ? ABSENT : `port ${port}`)

/**
 * Returns the possible final states of each record: the last answered one, or one begun later that may have been
 * carried out.
 */
export function possible(edits: readonly Edited[]): ReadonlyMap<string, ReadonlySet<string>> {
  const states = new Map<string, Set<string>>()
  for (const { edit, outcome } of edits) {
    const before = states.get(edit.name) ?? new Set([ABSENT])
    const after = shown(edit.port)
    if (outcome === 'answered') states.set(edit.name, new Set([after]))
    else if (outcome === 'refused') states.set(edit.name, before)
    else states.set(edit.name, before.add(after))
  }
  return states
}

/** Returns all violations in the records of a node, as sentences. */
export function recordViolations(node: string, edits: readonly Edited[], records: readonly Edit[]): readonly string[] {
  const states = possible(edits)
  const found = new Map(records.map(({ name, port }) => [name, shown(port)]))
  return [
    ...[...states].flatMap(([name, may]) => {
      const has = found.get(name) ?? ABSENT
      return may.has(has) ? [] : [`${node} has ${name}: ${has}, and may have ${[...may].join(' or ')}`]
    }),
    ...[...found.keys()].filter((name) => !states.has(name)).map((name) => `${node} has ${name}, which nobody sent`),
    ...(found.size === records.length ? [] : [`${node} has a name twice`]),
  ]
}

/** From `at_us` on, a node has these addresses. */
export interface Held {
  readonly node: string
  readonly held: readonly string[]
  readonly at_us: number
}

export interface Span {
  readonly from_us: number
  readonly to_us: number
}

/** Returns the spans in which more than one node had an address, in order. */
export function shared(told: readonly Held[], ip: Floating): readonly Span[] {
  const holders = new Set<string>()
  const spans: Span[] = []
  let since_us: number | undefined
  for (const { node, held, at_us } of told.toSorted((a, b) => a.at_us - b.at_us)) {
    if (held.includes(ip)) holders.add(node)
    else holders.delete(node)
    if (holders.size > 1) since_us ??= at_us
    else if (since_us !== undefined) {
      spans.push({ from_us: since_us, to_us: at_us })
      since_us = undefined
    }
  }
  return since_us === undefined ? spans : [...spans, { from_us: since_us, to_us: Number.POSITIVE_INFINITY }]
}

/** Returns the longest part of a span that is outside of the others, in microseconds. */
export function longestOutside({ from_us, to_us }: Span, others: readonly Span[]): number {
  let at_us = from_us
  let longest_us = 0
  for (const other of others.toSorted((a, b) => a.from_us - b.from_us)) {
    if (other.to_us <= at_us) continue
    if (other.from_us >= to_us) break
    longest_us = Math.max(longest_us, other.from_us - at_us)
    at_us = Math.max(at_us, other.to_us)
  }
  return Math.max(longest_us, to_us - at_us)
}

/** Returns the longest time for which an address was at two nodes that could hear each other, in microseconds. */
export function longestShared(told: readonly Held[], cut: readonly Span[]): number {
  const spans = FLOATING.flatMap((ip) => shared(told, ip))
  return Math.max(0, ...spans.map((span) => longestOutside(span, cut)))
}

/** Returns the longest of the gaps that touch a span, in microseconds. */
export function longestGap(gaps: readonly Gap[], span: Span): number {
  const touching = gaps.filter(({ from_us, to_us }) => from_us < span.to_us && to_us > span.from_us)
  return Math.max(0, ...touching.map(({ from_us, to_us }) => to_us - from_us))
}
