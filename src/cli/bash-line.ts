/** What bash has on its line at a Tab, and how a word gets there that is one argument, whatever is in it. */

interface Line {
  readonly words: readonly string[]
  /** The quote in which the last word is left open; empty: none. */
  readonly quote: string
}

const PART = /(\s+)|\\([^]?)|'([^']*)('?)|"((?:\\[^]?|[^"\\])*)("?)|[^\s\\'"]+/g

/** Up to the cursor, without the quotes; undefined where only bash knows what an argument will be. */
export function lineIn(text: string): Line | undefined {
  const words = ['']
  let quote = ''
  for (const [part, space, escaped, single, singleEnd, double, doubleEnd] of text.matchAll(PART)) {
    // What is filled in may have quotes of its own.
    if (escaped === undefined && single === undefined && /[$`]/.test(part.replace(/\\[^]/g, ''))) return undefined
    quote = singleEnd === '' ? "'" : doubleEnd === '' ? '"' : ''
    if (space !== undefined) words.push('')
    else words.push(`${words.pop()}${escaped ?? single ?? double?.replace(/\\([$`"\\])/g, '$1') ?? part}`)
  }
  return { words, quote }
}

/**
 * What bash is to put in the place of `end`, the end of its line, for each of the words that fit there. It breaks words
 * at colons and the like as well, and replaces what comes after those.
 */
export function inserted(found: readonly string[], line: string, end: string): readonly string[] {
  const head = line.endsWith(end) ? lineIn(line.slice(0, line.length - end.length)) : undefined
  // Bash leaves an open quote where it is: otherwise it sees another one than we do.
  if (head === undefined || head.quote !== lineIn(line)?.quote) return []
  const kept = head.words.at(-1)?.length ?? 0
  return found.map((one) => quoted(one.slice(kept), head.quote))
}

function quoted(text: string, quote: string): string {
  if (quote === "'") return text.replaceAll("'", String.raw`'\''`)
  // An exclamation mark means history in double quotes too, and keeps a backslash there.
  if (quote === '"') return text.replace(/[$`"\\]/g, String.raw`\$&`).replaceAll('!', String.raw`"\!"`)
  return text.replace(/[^\w.,:@%+/=\-\P{ASCII}]|\s/gu, String.raw`\$&`)
}
