import t from 'tap'
import { secondsOf } from '../../../src/base/durations.ts'

t.test('whole seconds, or a whole number with exactly one unit', async (test) => {
  for (const [text, seconds] of [
    ['900', 900],
    ['0', 0],
    ['007', 7],
    ['15s', 15],
    ['15m', 900],
    ['2h', 7200],
    ['31d', 2_678_400],
    ['4w', 2_419_200],
    ['999999999999999w', 999_999_999_999_999 * 604_800],
  ] as const) {
    test.equal(secondsOf(text), seconds, text)
  }
})

t.test('anything else is no duration', async (test) => {
  const others = [
    '',
    ' ',
    '1h30m',
    '500ms',
    '5us',
    '1.5h',
    '1,5',
    '-5',
    '+5',
    '5M',
    '5 m',
    ' 5',
    '5\n',
    'm',
    '1e3',
    '0x10',
    '٣',
    '5y',
  ]
  for (const text of others) test.equal(secondsOf(text), undefined, JSON.stringify(text))
  test.equal(secondsOf('1'.repeat(16)), undefined, 'more digits than a duration needs')
})
