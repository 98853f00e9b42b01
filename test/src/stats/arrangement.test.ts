import t from 'tap'
import { listOf, one, proxies, realsOf, servers } from '../../../src/stats/arrangement.ts'

const backend = (id: string, name: string) => ({ id, name, reals: [{ ripId: 'r1', name: `"web" of ${id}` }] })

t.test('the objects of an answer, their labels, and their keys in the archive', (t) => {
  t.strictSame(one('frontend', { id: 'fe', name: 'Shop' }), {
    shape: 'one',
    group: '',
    listed: '',
    columns: [],
    subjects: [
      {
        labels: [
          ['id', 'fe'],
          ['name', 'Shop'],
        ],
        json: '"id":"fe","name":"Shop"',
        kind: 'frontend',
        name: 'fe',
        backend: '',
      },
    ],
  })
  const reals = realsOf(backend('be', 'B'))
  t.match(reals, { shape: 'listed', listed: 'reals', group: '"id":"be","name":"B"', columns: ['id', 'name'] })
  t.match(reals.subjects, [{ json: String.raw`"id":"r1","name":"\"web\" of be"`, name: 'r1', backend: 'be' }])
  const list = listOf('r1', [backend('b1', 'B1'), backend('b2', 'B2')])
  t.match(list, { shape: 'list', subjects: [{ backend: 'b1' }, { backend: 'b2', kind: 'server', name: 'r1' }] })
  t.match(JSON.parse(`{${list.subjects[1]?.json}}`), {
    backendId: 'b2',
    backendName: 'B2',
    id: 'r1',
    name: '"web" of b2',
  })
  t.end()
})

t.test('several objects are in a list named after their kind', async (t) => {
  const [first, second] = [backend('b1', 'B1'), backend('b2', 'B2')]
  t.match(proxies('backend', [second, first]), {
    shape: 'listed',
    listed: 'backends',
    group: '',
    columns: ['id', 'name'],
    subjects: [{ name: 'b2', kind: 'backend' }, { name: 'b1' }],
  })
  const of = servers([
    { ripId: 'r1', backends: [first, second] },
    { ripId: 'r9', backends: [] },
  ])
  t.match(of, { shape: 'listed', listed: 'reals', columns: ['backendId', 'backendName', 'id', 'name'] })
  t.match(of.subjects, [{ backend: 'b1' }, { backend: 'b2', name: 'r1', kind: 'server' }])
  t.equal(of.subjects.length, 2)
})

t.test("the archive identifies an object by HAProxy's name, where that is not the id", (t) => {
  const real = { ripId: 'r', name: 'web', called: 'web' }
  const group = { id: 'b', name: 'pool', called: 'pool', reals: [real] }
  t.match(one('backend', group).subjects, [
    { kind: 'backend', name: 'pool', backend: '', json: '"id":"b","name":"pool"' },
  ])
  t.match(realsOf(group).subjects, [{ kind: 'server', name: 'web', backend: 'pool' }])
  t.match(listOf('r', [group]).subjects, [{ kind: 'server', name: 'web', backend: 'pool' }])
  t.end()
})
