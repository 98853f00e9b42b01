import t from 'tap'
import { mapPage, answerPage, pageOf } from '../../../src/api/pages.ts'

const items = ['d', 'b', 'a', 'c'].map((id) => ({ id }))
const keyOf = ({ id }: { readonly id: string }) => id
const ids = (page: { readonly items: readonly { readonly id: string }[] }) => page.items.map(({ id }) => id).join('')

t.test('pages follow each other without a gap, whatever goes meanwhile', async (test) => {
  const first = pageOf(items, { limit: 2 }, keyOf)
  test.equal(ids(first), 'ab')
  const { next = '' } = first
  const second = pageOf(
    items.filter(({ id }) => id !== 'b'),
    { limit: 2, after: next },
    keyOf,
  )
  test.equal(ids(second), 'cd')
  test.equal(second.next, undefined)
  test.equal(ids(pageOf(items, {}, keyOf)), 'abcd')
  test.same(pageOf([], {}, keyOf), { items: [], next: undefined })
})

t.test('next stands beside the data, and only where something follows', async (test) => {
  test.same(answerPage(pageOf(items, {}, keyOf)).beside, {})
  const page = mapPage(pageOf(items, { limit: 1 }, keyOf), ({ id }) => id)
  test.match(answerPage(page), { data: ['a'], beside: { next: page.next } })
})
