const BYTES_MAX = 255

/**
 * Returns why snmpd could not read the text as the single value of a directive; undefined if it can. snmpd reads the
 * rest of the line literally, quotes and backslashes included, but skips spaces at its ends and treats a leading # as a
 * comment.
 */
export function directiveProblem(text: string): string | undefined {
  if (Buffer.byteLength(text) > BYTES_MAX) return `must be at most ${BYTES_MAX} bytes in UTF-8`
  if (text.trim() !== text) return 'must not begin or end with a space'
  return text.startsWith('#') ? 'must not begin with #, which snmpd takes for a comment' : undefined
}

/** Does the same for a quoted word, which may contain anything but control characters. */
export function communityProblem(text: string): string | undefined {
  return Buffer.byteLength(text) > BYTES_MAX ? `must be at most ${BYTES_MAX} bytes in UTF-8` : undefined
}
