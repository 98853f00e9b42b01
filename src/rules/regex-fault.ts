/** Repetitions without a small bound must not be nested: some texts would take practically for ever. */
const REPEATED_MAX = 10
const LENGTH_MAX = 256
/** An escaped character, a class, a bounded repetition, or any other character. */
const TOKENS = /\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}|./gsu

/** Returns why a regular expression is not passed to HAProxy; its syntax is checked by HAProxy. */
export function regexFault(text: string): string | undefined {
  if (text === '') return 'must not be empty'
  if (text.length > LENGTH_MAX) return `must have at most ${LENGTH_MAX} characters`
  if (/\\[1-9]/.test(text.replaceAll('\\\\', ''))) return 'must not contain back-references (\\1)'
  return nestsRepetitions(text) ? 'must not contain nested repetitions, such as (a+)+' : undefined
}

/** Verbs, extended syntax, recursion, quotes and \K, which mean something else inside of another expression. */
const STANDS_ALONE = /\(\*|\(\?[\w^-]*x|\(\?[R0&]|\\[QK]/

/** Returns whether a regular expression repeats groups, and can be part of another one. */
export const repeatsGroups = (text: string): boolean => /\)[*+{]/.test(text) && !STANDS_ALONE.test(text)

function nestsRepetitions(text: string): boolean {
  // For each open group, whether it contains a repetition; `before` is that of the group just closed.
  const open: boolean[] = [false]
  let before = false
  for (const [token] of text.matchAll(TOKENS)) {
    if (repeats(token)) {
      if (before) return true
      open[open.length - 1] = true
    }
    before = token === ')' && open.length > 1 && open.pop() === true
    if (before) open[open.length - 1] = true
    if (token === '(') open.push(false)
  }
  return false
}

function repeats(token: string): boolean {
  if (token === '*' || token === '+') return true
  const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}$/.exec(token) ?? []
  if (least === undefined) return false
  return most === '' ? comma === ',' || Number(least) > REPEATED_MAX : Number(most) > REPEATED_MAX
}
