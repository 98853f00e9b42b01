import t from 'tap'
import { keepingAmendments } from '../../../src/config/amended-since.ts'

t.test('later amendments stay, everything else is reverted', async (test) => {
  const before = { id: 'u', name: 'old', hash: 'one', factor: { a: 1 } }
  const made = { id: 'u', name: 'new', hash: 'one', factor: { a: 1 } }
  test.same(keepingAmendments(before, made, made), before)
  test.same(keepingAmendments(before, made, { ...made, hash: 'two' }), { ...before, hash: 'two' })
  test.same(keepingAmendments(before, made, { id: 'u', name: 'new', hash: 'one' }), {
    id: 'u',
    name: 'old',
    hash: 'one',
  })
  test.same(keepingAmendments(before, made, { ...made, extra: [1] }), { ...before, extra: [1] })
  test.same(before, { id: 'u', name: 'old', hash: 'one', factor: { a: 1 } }, 'nothing is changed in place')
})

t.test('a record that did not exist before, or is deleted, has nothing to keep', async (test) => {
  test.equal(keepingAmendments(null, { a: 1 }, { a: 2 }), null)
  test.same(keepingAmendments({ a: 1 }, null, undefined), { a: 1 })
  test.same(keepingAmendments({ a: 1 }, { a: 2 }, undefined), { a: 1 })
})
