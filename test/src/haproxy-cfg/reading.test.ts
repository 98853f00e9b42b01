import t from 'tap'
import { entryOf, Reading, refuse } from '../../../src/haproxy-cfg/reading.ts'

t.test('a report about a line is given once, in the order of the file', (test) => {
  const reading = new Reading()
  const line = (number: number) => ({ number, text: `line ${number}`, words: ['line', String(number)] })
  for (const number of [9, 2, 9]) {
    reading.leave(line(number), 'no')
    reading.remark(line(number), 'yes')
  }
  reading.leave(line(9), 'for another reason')
  test.same(
    reading.left.map(({ line: number, why }) => `${number} ${why}`),
    ['2 no', '9 no', '9 for another reason'],
  )
  test.same(reading.remarks, [
    { line: 2, text: 'line 2', why: 'yes' },
    { line: 9, text: 'line 9', why: 'yes' },
  ])
  test.end()
})

t.test('words of a file find nothing that a table does not contain', (test) => {
  test.same([entryOf({ a: 1 }, 'a'), entryOf({ a: 1 }, 'b'), entryOf({ a: 1 }, 'toString')], [1, undefined, undefined])
  test.throws(() => refuse('so it is'), { message: 'so it is' })
  test.end()
})
