const UNIT_SECONDS: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }
const DURATION = /^(\d{1,15})([smhdw]?)$/

/**
 * Parses a duration such as 900, 15m or 2h into seconds: whole seconds, or a whole number with exactly one unit;
 * undefined for anything else.
 */
export function secondsOf(text: string): number | undefined {
  const [, digits, unit = ''] = DURATION.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits) * (UNIT_SECONDS[unit] ?? 1)
}
