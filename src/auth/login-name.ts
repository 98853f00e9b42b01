/**
 * The form in which login names are compared: ASCII letters without case, and everything else as it was typed. Whoever
 * folds or normalises more makes one name of two: U+212A, the sign of Kelvin, becomes a k, and is somebody else's.
 */
export function comparedName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Letters as a directory may compare them: without case, accents, blanks, and characters that nobody sees. */
const folded = (name: string) =>
  name
    .normalize('NFKD')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{C}\p{Z}]/gu, '')

/**
 * The name that a server, or a directory behind it, may take for one account, whatever realm is written before or
 * behind it: CORP\\alice, corp/alice, corp!alice, alice@corp.example, alice%corp and Álice may all be alice. It makes
 * one of names that are two, so it only counts failures and finds who was disabled; it never says who somebody is.
 */
export function bareName(name: string): string {
  const whole = folded(name)
  const last = whole.split(/[\\/!]/).findLast((part) => part !== '') ?? whole
  return last.split(/[@%]/).find((part) => part !== '') ?? last
}

/** What the daemon calls itself in revisions and in the audit log, and whoever comes by its own socket; folded. */
const OF_THE_DAEMON: ReadonlySet<string> = new Set(['fulcrum', 'system', 'demo', 'localroot'])

/** Nobody may be taken for the daemon. */
export const isReservedName = (name: string): boolean => OF_THE_DAEMON.has(folded(name))
