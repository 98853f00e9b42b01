/** Lines of a haproxy.cfg, by HAProxy's own rules for words: quotes, backslashes and comments (manual, 2.2 and 2.3). */

export interface Line {
  /** From 1 on. */
  readonly number: number
  /** As it stands there. */
  readonly text: string
  readonly words: readonly string[]
}

export function linesOf(text: string): readonly Line[] {
  return text.split(/\r?\n/).flatMap((line, at) => {
    const words = wordsOf(line)
    return words.length === 0 ? [] : [{ number: at + 1, text: line.trim(), words }]
  })
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/** One step through a line, character by character. */
function wordsOf(line: string): readonly string[] {
  const words: string[] = []
  let word: string | undefined
  let quote: '"' | "'" | undefined
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at)
    if (character === quote) quote = undefined
    else if (quote === "'") word = `${word ?? ''}${character}`
    else if (character === '\\') {
      at += 1
      const next = line.charAt(at)
      word = `${word ?? ''}${ESCAPED[next] ?? next}`
    } else if (quote === '"') word = `${word ?? ''}${character}`
    else if (character === '"' || character === "'") {
      quote = character
      word ??= ''
    } else if (character === '#') break
    else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = `${word ?? ''}${character}`
  }
  return word === undefined ? words : [...words, word]
}

const UNITS: Readonly<Record<string, number>> = { us: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86_400 }

/** Seconds of a time of HAProxy, which counts milliseconds where no unit stands (manual, 2.5); undefined for none. */
export function secondsOf(text: string | undefined): number | undefined {
  const [, number, unit = 'ms'] = /^(\d+)(us|ms|s|m|h|d)?$/.exec(text ?? '') ?? []
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 1)
}
