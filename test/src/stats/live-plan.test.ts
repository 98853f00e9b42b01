import t from 'tap'
import type { LiveView } from '../../../src/context/figures.ts'
import { listObjects, listSome, planView, rowKey } from '../../../src/stats/live-plan.ts'
import { namesOf } from './names-fixture.ts'

const reals = [
  { ripId: 'r1', name: 'web "1"' },
  { ripId: 'r2', name: 'web 2' },
]
const names = namesOf(
  [{ id: 'f1', name: 'Shop' }],
  [
    { id: 'b1', name: 'A', reals },
    { id: 'b2', name: 'B', reals: reals.slice(0, 1) },
  ],
  ['r9'],
)

function keys(view: LiveView): string[] | undefined {
  return planView(view, names)?.flatMap((piece) =>
    piece instanceof Uint8Array ? [] : piece.map((element) => element.rowKey),
  )
}

t.test('the objects of a view, in the order of the configuration', async (t) => {
  const server = (backend: string, rip: string) => rowKey('server', backend, rip)
  const [frontend, b1, b2] = [rowKey('frontend', 'f1', ''), rowKey('backend', 'b1', ''), rowKey('backend', 'b2', '')]
  const rips = [server('b1', 'r1'), server('b1', 'r2'), server('b2', 'r1')]
  t.strictSame(keys({ kind: 'all' }), [frontend, b1, b2, ...rips])
  t.strictSame(keys({ kind: 'frontends' }), [frontend])
  t.strictSame(keys({ kind: 'backends' }), [b1, b2])
  t.strictSame(keys({ kind: 'rips' }), rips)
  t.strictSame(keys({ kind: 'frontend', id: 'f1' }), [frontend])
  t.strictSame(keys({ kind: 'backend', id: 'b2' }), [b2])
  t.strictSame(keys({ kind: 'backend-rips', id: 'b1' }), rips.slice(0, 2))
  t.strictSame(keys({ kind: 'rip', id: 'r1' }), [server('b1', 'r1'), server('b2', 'r1')], 'one per backend')
  t.strictSame(keys({ kind: 'rip', id: 'r9' }), [])
})

t.test('an unconfigured object is not answered', async (t) => {
  for (const kind of ['frontend', 'backend', 'backend-rips', 'rip'] as const)
    t.equal(keys({ kind, id: 'none' }), undefined)
})

t.test('names are escaped', async (t) => {
  const [, elements] = planView({ kind: 'backend-rips', id: 'b1' }, names) ?? []
  const [first] = elements instanceof Uint8Array || elements === undefined ? [] : elements
  t.strictSame(JSON.parse(`${Buffer.from(first?.head ?? []).toString()}}`), {
    id: 'r1',
    name: 'web "1"',
    backendId: 'b1',
    backendName: 'A',
  })
})

t.test('selected objects are the same as among all; an unknown id yields none', (t) => {
  const all = listObjects(names)
  const ids = new Set(['f1', 'b2', 'r1', 'r9', 'none'])
  const some = listSome(names, ids)
  for (const kind of ['frontends', 'backends', 'reals'] as const)
    t.strictSame(
      some[kind],
      all[kind].filter(({ id }) => ids.has(id)),
    )
  t.equal(some.reals.length, 2)
  t.end()
})
