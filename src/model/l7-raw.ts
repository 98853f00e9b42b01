import { Type, type Static } from 'typebox'
import { closed, Id, refersTo } from './fields.ts'

/** Lines of haproxy.cfg written by users. */

const RawLines = Type.Array(
  Type.String({
    maxLength: 1024,
    pattern: '^[a-z][a-z0-9-]*(\\.[a-z0-9.-]+)?( [^\\u0000-\\u001f\\u007f]*)?$',
    description: 'One line: an HAProxy keyword with its arguments. Up to 1,024 characters.',
  }),
  { maxItems: 200, description: 'Lines in file order. Up to 200.' },
)

const ofRecords = (of: string, section: string) =>
  Type.Array(closed({ id: refersTo(Id, section), lines: RawLines }), {
    maxItems: 10_000,
    uniqueItems: true,
    description: `Raw lines of individual ${of}; replaces the whole list.`,
  })

/** One record for the cluster. */
export const L7Raw = closed({
  id: Id,
  global: { ...RawLines, description: 'Lines of the section global. Up to 200.' },
  defaults: { ...RawLines, description: 'Lines of the section defaults, which apply to all proxies. Up to 200.' },
  frontends: ofRecords('frontends', 'l7Frontends'),
  backends: ofRecords('backends', 'l7Backends'),
})
export type L7Raw = Static<typeof L7Raw>

export const NO_RAW: Omit<L7Raw, 'id'> = { global: [], defaults: [], frontends: [], backends: [] }
