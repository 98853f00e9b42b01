import t from 'tap'
import { ChangedNumbers } from '../../../src/exposition/changed-numbers.ts'
import { ColumnText } from '../../../src/exposition/column-text.ts'
import { labelsOf } from '../../../src/exposition/labels.ts'
import { ascii, JsonBuffer } from '../../../src/base/json-buffer.ts'

/** Positions of values that differ from the last time; unchanged ones may be among them. */
function changedOf(values: readonly string[], before: readonly string[]): ChangedNumbers {
  const numbers = new ChangedNumbers(values.length, ascii(values.join('')))
  let at = 0
  for (const [object, value] of values.entries()) {
    if (value !== before[object] || object === 1) numbers.add(object, at, at + value.length)
    at += value.length
  }
  return numbers
}

/** Writes the lines in two portions after some other text, as documents have them. */
function written(text: ColumnText, before: string, values: readonly string[], last: readonly string[]): string {
  const numbers = changedOf(values, last)
  const out = new JsonBuffer()
  out.text(before)
  text.begin(out)
  text.portion(out, 0, 2, numbers)
  text.portion(out, 2, values.length, numbers)
  const document = out.give()
  text.keep(document)
  return document.toString()
}

t.test('numbers stay, change, grow, shrink, appear and disappear', async (test) => {
  const labels = labelsOf(['a', 'b', 'c', 'd'].map((name) => `{n="${name}"`))
  const text = new ColumnText(ascii('m'), labels, ascii('} '))
  const line = (name: string, value: string) => (value === '' ? '' : `m{n="${name}"} ${value}\n`)
  const rounds = [
    ['1', '22', '333', '4'],
    ['1', '23', '334', '4'],
    ['10', '23', '3', '4444'],
    ['', '23', '', '4'],
    ['7', '', '8', ''],
    ['', '', '', ''],
    ['1', '2', '3', '4'],
  ]
  for (const [at, values] of rounds.entries()) {
    const before = 'x'.repeat(at * 7)
    const wanted = before + ['a', 'b', 'c', 'd'].map((name, i) => line(name, values[i] ?? '')).join('')
    test.equal(written(text, before, values, rounds[at - 1] ?? []), wanted, values.join())
  }
})
