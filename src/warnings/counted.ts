import type { Warning } from '../model/warning.ts'

const SHOWN = 5

/** Returns the warnings as one sentence. */
export function summarize(warnings: readonly Warning[]): string {
  const told = warnings.slice(0, SHOWN).map(({ message }) => message)
  const more = warnings.length > SHOWN ? ` (and ${warnings.length - SHOWN} more)` : ''
  return `${warnings.length === 1 ? '1 warning' : `${warnings.length} warnings`}: ${told.join('; ')}${more}`
}
