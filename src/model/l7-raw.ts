import { Type, type Static } from 'typebox'
import { closed, Id, refersTo } from './fields.ts'

/** Lines of haproxy.cfg written by users. */

const RawLines = Type.Array(
  Type.String({
    maxLength: 1024,
    pattern: '^[a-z][a-z0-9-]*(\\.[a-z0-9.-]+)?( [^\\u0000-\\u001f\\u007f]*)?$',
    description: 'One line: a keyword of HAProxy, and what it takes. Up to 1,024 characters.',
  }),
  { maxItems: 200, description: 'In the order of the file. Up to 200.' },
)

const ofRecords = (of: string, section: string) =>
  Type.Array(closed({ id: refersTo(Id, section), lines: RawLines }), {
    maxItems: 10_000,
    uniqueItems: true,
    description: `Lines of single ${of}, the whole list.`,
  })

/** One record for the cluster. */
export const L7Raw = closed({
  id: Id,
  global: { ...RawLines, description: 'Lines of the section global. Up to 200.' },
  defaults: { ...RawLines, description: 'Lines of the section defaults, which holds for all proxies. Up to 200.' },
  frontends: ofRecords('frontends', 'l7Frontends'),
  backends: ofRecords('backends', 'l7Backends'),
})
export type L7Raw = Static<typeof L7Raw>

export const NO_RAW: Omit<L7Raw, 'id'> = { global: [], defaults: [], frontends: [], backends: [] }
