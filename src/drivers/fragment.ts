/** How every file begins that this daemon wrote. */
const OURS = '# Written by Fulcrum'

/** A small file of configuration whose comments begin with #. */
export function writtenHere(lines: readonly string[]): string {
  return [`${OURS}; changes to this file are lost. Use the API instead.`, ...lines, ''].join('\n')
}

/** Whether this daemon wrote it. */
export const isOurs = (content: string): boolean => content.startsWith(OURS)
