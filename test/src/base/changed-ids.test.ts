import t from 'tap'
import { changedIds } from '../../../src/base/changed-ids.ts'
import { seededRandom } from '../../storage/archive/reference-model.ts'

t.test('added, deleted and changed objects, at any position', async (test) => {
  const random = seededRandom(5)
  for (let round = 0; round < 500; round++) {
    const before = Array.from({ length: Math.floor(random() * 8) }, (_, at) => ({ id: `r${at}` }))
    const after = before
      .filter(() => random() > 0.2)
      .map((one) => (random() < 0.2 ? { ...one } : one))
      .concat(random() < 0.3 ? [{ id: 'new' }] : [])
    const [old, now] = [before, after].map((all) => new Map(all.map((one) => [one.id, one])))
    const ids = [...new Set([...before, ...after].map(({ id }) => id))]
    const wanted = ids.filter((id) => old?.get(id) !== now?.get(id))
    test.same(changedIds(before, after).toSorted(), wanted.toSorted(), JSON.stringify([before, after]))
  }
  const list = [{ id: 'a' }]
  test.same(changedIds(list, list), [])
})
