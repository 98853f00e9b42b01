import t from 'tap'
import { changedFields, merge } from '../../../../src/ui/core/merge.ts'

const BASE = { name: 'shop', weight: 100, reals: [{ id: 'a' }], owner: '' }

t.test('changes of one side are adopted; conflicts are asked about', async (test) => {
  const mine = { ...BASE, weight: 50, reals: [{ id: 'b' }] }
  const theirs = { ...BASE, name: 'store', reals: [{ id: 'c' }] }
  test.same(merge(BASE, mine, theirs), {
    value: { name: 'store', weight: 50, reals: [{ id: 'b' }], owner: '' },
    conflicts: [{ field: 'reals', mine: [{ id: 'b' }], theirs: [{ id: 'c' }] }],
  })
})

t.test('the same change twice is no conflict; a removed value stays removed', async (test) => {
  const { weight: _, ...without } = BASE
  test.same(merge(BASE, { ...BASE, weight: 7 }, { ...BASE, weight: 7 }), {
    value: { ...BASE, weight: 7 },
    conflicts: [],
  })
  test.same(merge(BASE, BASE, without), { value: without, conflicts: [] })
  test.same(merge(BASE, without, BASE), { value: without, conflicts: [] })
  test.match(merge(BASE, without, { ...BASE, weight: 9 }), { conflicts: [{ field: 'weight', theirs: 9 }] })
})

t.test('unchanged fields are not sent', async (test) => {
  test.same(changedFields(BASE, { ...BASE, owner: 'team', reals: [{ id: 'a' }] }), { owner: 'team' })
})

t.test('fields that every change has to name are sent unchanged', async (test) => {
  test.same(changedFields(BASE, { ...BASE, weight: 7 }, ['name']), { name: 'shop', weight: 7 })
  const { name: _, ...without } = BASE
  test.same(changedFields(BASE, without, ['name']), {}, 'a removed value is not invented')
})
