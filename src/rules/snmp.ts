const BYTES_MAX = 255

/**
 * Why snmpd could not take the text as the one value of a directive; undefined when it can. It reads the rest of the
 * line literally, quotes and backslashes included, but skips spaces and takes a first # for a comment.
 */
export function directiveProblem(text: string): string | undefined {
  if (Buffer.byteLength(text) > BYTES_MAX) return `must be at most ${BYTES_MAX} bytes in UTF-8`
  if (text.trim() !== text) return 'must not begin or end with a space'
  return text.startsWith('#') ? 'must not begin with #, which snmpd takes for a comment' : undefined
}

/** The same for a quoted word, which may hold anything but control characters. */
export function communityProblem(text: string): string | undefined {
  return Buffer.byteLength(text) > BYTES_MAX ? `must be at most ${BYTES_MAX} bytes in UTF-8` : undefined
}
