import { type FieldProblem, problemIn } from '../base/errors.ts'
import type { L7Raw } from '../model/l7-raw.ts'

/** Words that begin a section of haproxy.cfg: the lines after them would belong to that section. */
const SECTIONS = new Set([
  'acme',
  'backend',
  'cache',
  'crt-store',
  'defaults',
  'fcgi-app',
  'frontend',
  'global',
  'http-errors',
  'listen',
  'log-forward',
  'log-profile',
  'mailers',
  'namespace_list',
  'peers',
  'program',
  'resolvers',
  'ring',
  'traces',
  'userlist',
])

/** Returns what is wrong with a line, before HAProxy checks it. */
export function rawFault(line: string): string | undefined {
  const [keyword = ''] = line.split(' ')
  return SECTIONS.has(keyword) ? `begins a section (${keyword}), but raw lines belong within their section` : undefined
}

/** Returns each list of lines with its field. */
const listsOf = ({ global, defaults, frontends, backends }: Omit<L7Raw, 'id'>) => [
  { field: 'global', lines: global },
  { field: 'defaults', lines: defaults },
  ...frontends.map(({ lines }, at) => ({ field: `frontends.${at}.lines`, lines })),
  ...backends.map(({ lines }, at) => ({ field: `backends.${at}.lines`, lines })),
]

export function rawProblems(raw: Omit<L7Raw, 'id'>): readonly FieldProblem[] {
  const twice = (['frontends', 'backends'] as const).flatMap((of) => {
    const ids = raw[of].map(({ id }) => id)
    return ids.flatMap((id, at) =>
      ids.indexOf(id) < at ? [problemIn(`${of}.${at}.id`, 'is already in this list')] : [],
    )
  })
  const faults = listsOf(raw).flatMap(({ field, lines }) =>
    lines.flatMap((line, at) => {
      const fault = rawFault(line)
      return fault === undefined ? [] : [problemIn(`${field}.${at}`, fault)]
    }),
  )
  return [...twice, ...faults]
}
