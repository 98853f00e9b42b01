/**
 * The form in which login names are compared: ASCII letters without case, and everything else as it was typed. More
 * folding or normalisation would merge different names: U+212A, the Kelvin sign, becomes a k, and belongs to somebody
 * else.
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
 * The name that a server, or a directory behind it, may take for one account, whatever realm is written before or after
 * it: CORP\\alice, corp/alice, corp!alice, alice@corp.example, alice%corp and Álice may all be alice. It may merge two
 * different names, so it only counts failures and finds disabled users; it never identifies anybody.
 */
export function bareName(name: string): string {
  const whole = folded(name)
  const last = whole.split(/[\\/!]/).findLast((part) => part !== '') ?? whole
  return last.split(/[@%]/).find((part) => part !== '') ?? last
}

/** Names that revisions and the audit log use for the daemon, and for callers on its own socket; folded. */
const OF_THE_DAEMON: ReadonlySet<string> = new Set(['fulcrum', 'system', 'demo', 'localroot'])

/** Nobody may be taken for the daemon. */
export const isReservedName = (name: string): boolean => OF_THE_DAEMON.has(folded(name))
