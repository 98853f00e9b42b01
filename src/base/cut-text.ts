/** Returns at most so many UTF-16 code units of a text, without half a character at the end. */
export const cutText = (text: string, length_max: number): string =>
  text.slice(0, length_max).replace(/[\ud800-\udbff]$/, '')
