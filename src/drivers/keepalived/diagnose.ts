import type { ConfigView } from '../../model/sections.ts'
import type { Problem } from '../../model/problem.ts'

/** Messages of keepalived and nft name record ids, or lines of a file that users do not see. */
export function diagnoseOutput(output: string, desired: ConfigView): readonly Problem[] {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const named = lines.flatMap((line): readonly Problem[] => {
    for (const { id } of desired.list('l4Frontends')) {
      if (line.includes(id)) return [{ section: 'l4Frontends', id, field: undefined, message: line.trim() }]
    }
    return []
  })
  if (named.length > 0) return named
  const message = lines.slice(-3).join('\n') || 'keepalived gave no reason'
  return [{ section: undefined, id: undefined, field: undefined, message }]
}
