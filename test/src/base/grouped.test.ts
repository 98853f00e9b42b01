import t from 'tap'
import { grouped } from '../../../src/base/grouped.ts'

t.test('items are grouped by their key, in the order of the first ones', async (test) => {
  const groups = grouped(['b1', 'a1', 'b2'], (item) => item.slice(0, 1))
  test.same(
    [...groups],
    [
      ['b', ['b1', 'b2']],
      ['a', ['a1']],
    ],
  )
})
