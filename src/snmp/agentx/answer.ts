import type { NoValue, Oid, Value, VarBind } from './bytes.ts'
import { ERROR, type Header, type Pdu, responsePdu, type SearchRange } from './pdu.ts'

/** The readable objects, in the order of their identifiers. */
export interface Mib {
  get(oid: Oid): Value | Exclude<NoValue, 'endOfMibView'>
  /** Returns the first object after `oid`, or at it; undefined when there is none. */
  next(oid: Oid, isIncluded: boolean): { readonly oid: Oid; readonly value: Value } | undefined
}

/** Maximum number of values in one answer, however many are requested: the master asks for the rest. */
const BULK_VALUES_MAX = 500

/** Returns the answer to a request of the master; undefined for a request without one. Throws nothing. */
export function answerTo(header: Header, request: Pdu, mib: Mib): Buffer | undefined {
  const found = (values: readonly VarBind[]) => responsePdu(header, ERROR.none, 0, values)
  switch (request.kind) {
    case 'get':
      return found(request.ranges.map(({ start }) => ({ oid: start, value: mib.get(start) })))
    case 'getNext':
      return found(request.ranges.map((range) => nextIn(mib, range)))
    case 'getBulk':
      return found(bulk(mib, request))
    // All objects are read-only.
    case 'testSet':
    case 'commitSet':
      return responsePdu(header, ERROR.notWritable, 1, [])
    case 'undoSet':
    case 'ping':
      return responsePdu(header, ERROR.none, 0, [])
    case 'context':
      return responsePdu(header, ERROR.unsupportedContext, 0, [])
    case 'unknown':
      return responsePdu(header, ERROR.genErr, 0, [])
    default:
      return undefined
  }
}

/** By RFC 2741, 7.2.3.2. */
function nextIn(mib: Mib, { start, isIncluded, end }: SearchRange): VarBind {
  const next = mib.next(start, isIncluded)
  const isBeyond = next === undefined || (end.length > 0 && compareOids(next.oid, end) >= 0)
  return isBeyond ? { oid: start, value: 'endOfMibView' } : next
}

/** By RFC 2741, 7.2.3.3: single values, then each repeater in turn, repeatedly. */
function bulk(mib: Mib, { ranges, nonRepeaters, repetitions }: Extract<Pdu, { readonly kind: 'getBulk' }>): VarBind[] {
  const found = ranges.slice(0, nonRepeaters).map((range) => nextIn(mib, range))
  let repeaters = ranges.slice(nonRepeaters)
  for (let round = 0; round < repetitions && repeaters.length > 0; round++) {
    if (round > 0 && found.length + repeaters.length > BULK_VALUES_MAX) break
    const row = repeaters.map((range) => nextIn(mib, range))
    found.push(...row)
    if (row.every(({ value }) => value === 'endOfMibView')) break
    repeaters = repeaters.map(({ end }, index) => ({ start: row[index]?.oid ?? [], isIncluded: false, end }))
  }
  return found
}

/** Negative when `a` comes first. */
export function compareOids(a: Oid, b: Oid): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
