/** Texts into which HAProxy inserts parts of the request: `{source}`, `{header.NAME}`. */

/** Placeholders that have a name. */
const NAMED = ['header', 'cookie', 'variable'] as const
const PLAIN = ['source', 'port', 'host', 'path', 'query', 'method'] as const
export type Placeholder = (typeof NAMED)[number] | (typeof PLAIN)[number]
/** The placeholders that are still available in a response. */
const OF_RESPONSES: ReadonlySet<string> = new Set(['source', 'port', 'variable'])

export const VARIABLE = /^[A-Za-z]\w*$/
const FORM = /\{([a-zA-Z]+)(?:\.([A-Za-z0-9_-]{1,64}))?\}/g

/** A part of a text: literal, or a placeholder. */
export type Part = string | { readonly of: Placeholder; readonly name: string }

const PLACEHOLDERS: readonly Placeholder[] = [...PLAIN, ...NAMED]
const placeholderOf = (word: string) => PLACEHOLDERS.find((known) => known === word)
const isNamed = (word: string) => NAMED.some((known) => known === word)

export function partsOf(text: string): readonly Part[] {
  const parts: Part[] = []
  let end = 0
  for (const found of text.matchAll(FORM)) {
    const [all, word = '', name = ''] = found
    const of = placeholderOf(word)
    if (of === undefined) continue
    if (found.index > end) parts.push(text.slice(end, found.index))
    parts.push({ of, name })
    end = found.index + all.length
  }
  return end < text.length ? [...parts, text.slice(end)] : parts
}

/** Returns a problem for each unknown placeholder; other text in braces is literal. */
export function unknownIn(text: string, isOfResponse: boolean): readonly string[] {
  const known = PLACEHOLDERS.filter((one) => !isOfResponse || OF_RESPONSES.has(one))
  const forms = known.map((one) => (isNamed(one) ? `{${one}.NAME}` : `{${one}}`)).join(', ')
  return [...text.matchAll(FORM)].flatMap(([all, word = '', name = '']) => {
    const isRight = word === 'variable' ? VARIABLE.test(name) : isNamed(word) === (name !== '')
    return isRight && known.some((one) => one === word) ? [] : [`${all} is not one of ${forms}`]
  })
}
