import t from 'tap'
import { rowKey } from '../../../src/stats/live-plan.ts'
import { PlacedObjects } from '../../../src/stats/placed-objects.ts'
import { namesOf } from './names-fixture.ts'

const objects = namesOf(
  [
    { id: 'f1', name: 'one' },
    { id: 'f2', name: 'two', called: 'theirs' },
  ],
  [
    {
      id: 'b1',
      name: 'shop',
      reals: [
        { ripId: 'r1', name: 'web 1' },
        { ripId: 'r2', name: 'web 2', called: 'srv' },
      ],
    },
  ],
)

t.test('each object has the row of its key; keys are made once for each version and layout', async (test) => {
  const names = { ...objects, version: 1 }
  const rows = new Map(
    [rowKey('frontend', 'theirs', ''), rowKey('backend', 'b1', ''), rowKey('server', 'b1', 'srv')].map((key, row) => [
      key,
      row,
    ]),
  )
  let [layout, asked] = [1, 0]
  const index = { layout: () => layout, row: (key: string) => (asked++, rows.get(key)) }
  const placed = new PlacedObjects(names)
  const first = await placed.at(index)
  test.same([...first.frontends], [-1, 0])
  test.same([...first.rows], [1, -1, 2])
  test.same(
    first.members.map(({ backend, real }) => [backend.id, real?.ripId]),
    [
      ['b1', undefined],
      ['b1', 'r1'],
      ['b1', 'r2'],
    ],
  )
  test.equal(await placed.at(index), first)
  test.equal(asked, 5)
  names.version = 2
  test.not(await placed.at(index), first)
  layout = 2
  await placed.at(index)
  test.equal(asked, 15)
})

t.test('rows that change during a look-up are looked up again', async (test) => {
  let layout = 1
  const index = {
    layout: () => layout,
    row: () => {
      const row = layout
      layout = 2
      return row
    },
  }
  const { frontends, rows } = await new PlacedObjects(objects).at(index)
  test.same([...frontends], [2, 2])
  test.same([...rows], [2, 2, 2])
})
