import { SHARED } from '../../model/node.ts'
import type { ConfigView } from '../../model/sections.ts'
import { linesOf, type Statement } from './statement.ts'

/** Raw lines, marked by comments. */
function statements(lines: readonly string[] | undefined, field: string): readonly Statement[] {
  if (lines === undefined || lines.length === 0) return []
  const line = linesOf('l7Raw', SHARED)
  return [line('# Raw lines', field), ...lines.map((text, at) => line(text, `${field}.${at}`))]
}

/** Raw lines of a section that exists once. */
export const rawOfWhole = (view: ConfigView, section: 'global' | 'defaults'): readonly Statement[] =>
  statements(view.get('l7Raw', SHARED)?.[section], section)

/** Whether a backend has default-server settings in its raw lines, which a server added at runtime would not get. */
export function hasServerDefaults(view: ConfigView, backendId: string): boolean {
  const raw = view.get('l7Raw', SHARED)
  const own = raw?.backends.find(({ id }) => id === backendId)?.lines ?? []
  return [...(raw?.defaults ?? []), ...own].some((line) => line.startsWith('default-server '))
}

/** Raw lines of one proxy. */
export function rawOfProxy(view: ConfigView, of: 'frontends' | 'backends', id: string): readonly Statement[] {
  const all = view.get('l7Raw', SHARED)?.[of] ?? []
  const at = all.findIndex((one) => one.id === id)
  return statements(all[at]?.lines, `${of}.${at}.lines`)
}
