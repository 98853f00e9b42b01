/** Beginning of every file that this daemon wrote. */
const OURS = '# Written by Fulcrum'

/** Returns the text of a small configuration file whose comments begin with #. */
export function writtenHere(lines: readonly string[]): string {
  return [`${OURS}; changes to this file are lost. Use the API instead.`, ...lines, ''].join('\n')
}

/** Whether this daemon wrote the file. */
export const isOurs = (content: string): boolean => content.startsWith(OURS)
