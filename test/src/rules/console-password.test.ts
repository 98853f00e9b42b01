import t from 'tap'
import { passwordProblems } from '../../../src/rules/console-password.ts'

const GOOD = 'Gut-1234'
const SHORT = 'must have at least 8 characters'
const LONG = 'must have at most 128 characters'
const UPPER = 'must contain an upper-case letter'
const LOWER = 'must contain a lower-case letter'
const DIGIT = 'must contain a digit'
const SYMBOL = 'must contain a symbol'
const CONTROL = 'must not contain control characters'

t.test('8 to 128 characters', async (t) => {
  t.strictSame(passwordProblems(GOOD), [])
  t.strictSame(passwordProblems('Gut-123'), [SHORT])
  t.strictSame(passwordProblems(`Gut-1${'a'.repeat(123)}`), [])
  t.strictSame(passwordProblems(`Gut-1${'a'.repeat(124)}`), [LONG])
  t.strictSame(passwordProblems('Gut-1😀😀😀'), [], 'characters, not the units in which they are stored')
  t.strictSame(passwordProblems('Gut-1😀😀'), [SHORT])
})

t.test('an upper-case letter, a lower-case letter, a digit and a symbol', async (t) => {
  t.strictSame(passwordProblems('gut-1234'), [UPPER])
  t.strictSame(passwordProblems('GUT-1234'), [LOWER])
  t.strictSame(passwordProblems('Gut-abcd'), [DIGIT])
  t.strictSame(passwordProblems('Gut01234'), [SYMBOL])
  t.strictSame(passwordProblems('Gut 1234'), [SYMBOL], 'a space is none')
  t.strictSame(passwordProblems('Äöü€1234'), [], 'of any alphabet')
  for (const symbol of '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~§°') t.strictSame(passwordProblems(`Gut1234${symbol}`), [])
})

t.test('every broken rule is named', async (t) => {
  t.strictSame(passwordProblems(''), [SHORT, UPPER, LOWER, DIGIT, SYMBOL])
  t.strictSame(passwordProblems('a\n'), [SHORT, UPPER, DIGIT, SYMBOL, CONTROL])
})

t.test('control characters, which could begin a second line, are refused', async (t) => {
  for (const control of ['\n', '\r', '\0', '\t', '\u007f', '\u0085', '\u2028', '\ud800']) {
    t.strictSame(passwordProblems(`${GOOD}${control}root:x`), [CONTROL], `U+${control.charCodeAt(0).toString(16)}`)
  }
})
