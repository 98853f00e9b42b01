/** Lines of a haproxy.cfg, by HAProxy's own rules for words: quotes, backslashes and comments (manual, 2.2 and 2.3). */

export interface Line {
  /** Counted from 1. */
  readonly number: number
  /** As in the file. */
  readonly text: string
  readonly words: readonly string[]
}

/** Limits of HAProxy for a line (manual, 2.1; LINESIZE and MAX_LINE_ARGS in its sources). */
const LINE_MAX = 2_048
const WORDS_MAX = 64

/** Returns why HAProxy would refuse the line, or would read values from a place that Fulcrum cannot see. */
export function faultOf({ text, words }: Line): string | undefined {
  if (text.length > LINE_MAX || words.length > WORDS_MAX)
    return 'HAProxy accepts at most 2,048 characters and 64 words per line'
  // Invalid UTF-8 was decoded to this character.
  if (words.some((word) => word.includes('\ufffd'))) return 'it is not UTF-8'
  return /"[^"]*\$\{?[\w.][^"]*"/.test(text.replaceAll(/\\./g, '')) ? 'it uses an environment variable' : undefined
}

export function linesOf(text: string): readonly Line[] {
  return text.split(/\r?\n/).flatMap((line, at) => {
    const words = wordsOf(line)
    return words.length === 0 ? [] : [{ number: at + 1, text: line.trim(), words }]
  })
}

/** An escape sequence, a quoted text, a comment, space, or a piece of a word. */
const PIECE = /\\(x[\da-fA-F]{2}|.?)|"((?:\\.|[^"\\])*)"?|'([^']*)'?|(#.*)|(\s+)|([^\s"'\\#]+)/gs
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/** HAProxy keeps every other backslash: regular expressions are full of them. */
function unescaped(after: string): string {
  const code = /^x(..)$/s.exec(after)?.[1]
  // A byte of a multi-byte character is no character, and zero ends a text.
  if (code !== undefined)
    return /^(?:0[1-9a-f]|[1-7])/i.test(code) ? String.fromCharCode(Number.parseInt(code, 16)) : '\ufffd'
  return ESCAPED[after] ?? (/^[ \\#"']$/.test(after) ? after : `\\${after}`)
}

function wordsOf(line: string): readonly string[] {
  const words: string[] = []
  let isInside = false
  for (const [, escaped, weak, strong, comment, space, plain] of line.matchAll(PIECE)) {
    if (comment !== undefined) break
    if (space !== undefined) isInside = false
    else {
      const inWeak = weak?.replace(/\\(x[\da-fA-F]{2}|.)/gs, (_, after: string) =>
        after === '$' ? '$' : unescaped(after),
      )
      const piece = plain ?? inWeak ?? strong ?? unescaped(escaped ?? '')
      const before = isInside ? (words.pop() ?? '') : ''
      words.push(`${before}${piece}`)
      isInside = true
    }
  }
  return words
}

const UNITS: Readonly<Record<string, number>> = { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86_400 }

/**
 * Parses a time of HAProxy, in milliseconds if it has no unit (manual, 2.5), into seconds; undefined for anything else.
 */
export function secondsOf(text: string | undefined): number | undefined {
  const [, number, unit = 'ms'] = /^(\d+)(us|ms|s|m|h|d)?$/.exec(text ?? '') ?? []
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 1)
}
