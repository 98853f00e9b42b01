import t from 'tap'
import { type Read, violations, type Write } from './life-history.ts'

const write = (value: string, begin: number, end: number, more: Partial<Write> = {}): Write => ({
  record: 'r',
  value,
  begin,
  end,
  outcome: 'done',
  ...more,
})
const read = (value: string, begin: number, end: number): Read => ({ record: 'r', value, begin, end })

t.test('possible histories are no violation', async (test) => {
  const writes = [
    write('a', 0, 1),
    write('b', 2, 5),
    write('c', 3, 4),
    write('d', 6, 7, { outcome: 'refused' }),
    write('e', 8, 9, { outcome: 'unknown' }),
    write('f', 12, 13, { base: { tag: 't', read: 11 } }),
    write('g', 12, 13, { outcome: 'refused', base: { tag: 't', read: 11 } }),
  ]
  test.same(violations(writes, [read('a', 1, 2), read('a', 2, 6), read('b', 6, 7), read('c', 6, 7)]), [])
  test.same(violations(writes, [read('e', 10, 11), read('b', 10, 11)]), [], 'whether e was carried out is unknown')
  test.same(violations(writes, [read('f', 14, 15)]), [])
})

t.test('a lost, a stale, a refused, an invented and an early value are found', async (test) => {
  const writes = [write('a', 0, 1), write('b', 2, 3), write('c', 4, 5, { outcome: 'refused' }), write('d', 20, 21)]
  test.match(violations(writes, [read('a', 4, 5)]), [/answered a, although b was answered before/])
  test.match(violations(writes, [read('c', 6, 7)]), [/answered c, which was refused/])
  test.match(violations(writes, [read('x', 6, 7)]), [/answered x, which nobody wrote/])
  test.match(violations(writes, [read('d', 6, 7)]), [/answered d, which was not written yet/])
})

t.test('two writes with one tag, and one with an old tag, are found', async (test) => {
  const base = { tag: 't', read: 1 }
  test.match(violations([write('a', 2, 4, { base }), write('b', 3, 5, { base })], []), [
    /a and b both passed with the tag t/,
  ])
  test.match(violations([write('a', 2, 3), write('b', 4, 5, { base })], []), [/b passed with a tag from before a/])
})
