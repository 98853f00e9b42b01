/** Parsing of bash's line at a Tab, and quoting of words so that each becomes one argument, whatever it contains. */

interface Line {
  readonly words: readonly string[]
  /** The quote that is still open in the last word; empty if there is none. */
  readonly quote: string
}

const PART = /(\s+)|\\([^]?)|'([^']*)('?)|"((?:\\[^]?|[^"\\])*)("?)|[^\s\\'"]+/g

/** Parses the line up to the cursor and removes quotes; undefined if only bash can know the arguments. */
export function lineIn(text: string): Line | undefined {
  const words = ['']
  let quote = ''
  for (const [part, space, escaped, single, singleEnd, double, doubleEnd] of text.matchAll(PART)) {
    // Expansions may insert quotes.
    if (escaped === undefined && single === undefined && /[$`]/.test(part.replace(/\\[^]/g, ''))) return undefined
    quote = singleEnd === '' ? "'" : doubleEnd === '' ? '"' : ''
    if (space !== undefined) words.push('')
    else words.push(`${words.pop()}${escaped ?? single ?? double?.replace(/\\([$`"\\])/g, '$1') ?? part}`)
  }
  return { words, quote }
}

/**
 * Returns, for each word found, the replacement for `end`, the part of the line that bash replaces. Bash also splits
 * words at colons and similar characters, and replaces only what follows those.
 */
export function inserted(found: readonly string[], line: string, end: string): readonly string[] {
  const head = line.endsWith(end) ? lineIn(line.slice(0, line.length - end.length)) : undefined
  // Bash keeps an open quote in place: give up if it sees a different open quote than this parser.
  if (head === undefined || head.quote !== lineIn(line)?.quote) return []
  const kept = head.words.at(-1)?.length ?? 0
  return found.map((one) => quoted(one.slice(kept), head.quote))
}

function quoted(text: string, quote: string): string {
  if (quote === "'") return text.replaceAll("'", String.raw`'\''`)
  // An exclamation mark means history in double quotes too, and a backslash before it would stay there.
  if (quote === '"') return text.replace(/[$`"\\]/g, String.raw`\$&`).replaceAll('!', String.raw`"\!"`)
  return text.replace(/[^\w.,:@%+/=\-\P{ASCII}]|\s/gu, String.raw`\$&`)
}
