const LENGTH_MIN = 8
const LENGTH_MAX = 128

const RULES: readonly { readonly isKept: (password: string) => boolean; readonly message: string }[] = [
  {
    isKept: (password) => Array.from(password).length >= LENGTH_MIN,
    message: `must have at least ${LENGTH_MIN} characters`,
  },
  {
    isKept: (password) => Array.from(password).length <= LENGTH_MAX,
    message: `must have at most ${LENGTH_MAX} characters`,
  },
  { isKept: (password) => /\p{Lu}/u.test(password), message: 'must contain an upper-case letter' },
  { isKept: (password) => /\p{Ll}/u.test(password), message: 'must contain a lower-case letter' },
  { isKept: (password) => /\p{Nd}/u.test(password), message: 'must contain a digit' },
  { isKept: (password) => /[^\p{L}\p{M}\p{N}\p{C}\p{Z}]/u.test(password), message: 'must contain a symbol' },
  // A line break would start another account's line in the input of the program that sets passwords; the other
  // characters cannot be typed.
  {
    isKept: (password) => !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(password),
    message: 'must not contain control characters',
  },
]

/** Returns the rules that a console password breaks, in words that do not repeat it. */
export function passwordProblems(password: string): readonly string[] {
  return RULES.filter(({ isKept }) => !isKept(password)).map(({ message }) => message)
}
