/**
 * Returns the form in which login names are compared: ASCII letters in lower case, everything else as typed. More
 * folding or normalisation would merge different names: U+212A, the Kelvin sign, would become a k of another user's
 * name.
 */
export function comparedName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Folds letters as a directory may: without case, accents, blanks and invisible characters. */
const folded = (name: string) =>
  name
    .normalize('NFKD')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{C}\p{Z}]/gu, '')

/**
 * Returns the name that a server, or a directory behind it, may take for one account, whatever realm is before or after
 * it: CORP\\alice, corp/alice, corp!alice, alice@corp.example, alice%corp and Álice may all be alice. It may merge two
 * different names, so it only counts failures and finds disabled users; it never identifies a user.
 */
export function bareName(name: string): string {
  const whole = folded(name)
  const last = whole.split(/[\\/!]/).findLast((part) => part !== '') ?? whole
  return last.split(/[@%]/).find((part) => part !== '') ?? last
}

/** Folded names by which revisions and the audit log call the daemon, and callers on its own socket. */
const OF_THE_DAEMON: ReadonlySet<string> = new Set(['fulcrum', 'system', 'demo', 'localroot'])

/** Returns whether a user with this name could be taken for the daemon. */
export const isReservedName = (name: string): boolean => OF_THE_DAEMON.has(folded(name))
