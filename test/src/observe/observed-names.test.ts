import t from 'tap'
import { observedId, ObservedNames } from '../../../src/observe/observed-names.ts'

const OBJECTS = [
  { objectId: 1, kind: 'frontend', name: 'web', backend: '' },
  { objectId: 2, kind: 'backend', name: 'web', backend: '' },
  { objectId: 3, kind: 'server', name: 's1', backend: 'web' },
  { objectId: 4, kind: 'backend', name: 'blog', backend: '' },
  { objectId: 5, kind: 'server', name: 's1', backend: 'blog' },
  { objectId: 6, kind: 'server', name: 's2', backend: 'blog' },
] as const
const id = (objectId: number) => observedId(OBJECTS[objectId - 1] ?? OBJECTS[0])

t.test('an id is derived from kind and names alone, and these are separated', async (test) => {
  test.match(id(1), /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  test.equal(new Set(OBJECTS.map(observedId)).size, OBJECTS.length)
})

t.test('lists follow the latest answer, in its order; removed objects are still known', async (test) => {
  const names = new ObservedNames()
  names.know(OBJECTS)
  test.same([...names.frontends()], [], 'no answer yet')
  const { version } = names
  names.list([1, 3, 2, 6, 5, 4])
  test.ok(names.version > version)
  test.same([...names.frontends()], [{ id: id(1), name: 'web', called: 'web' }])
  test.same(
    [...names.backends()].map(({ name, reals }) => [name, ...reals.map((real) => real.ripId)]),
    [
      ['web', id(3)],
      ['blog', id(6), id(5)],
    ],
  )
  test.match(names.backendsOfRip(id(5)), [{ id: id(4), name: 'blog', reals: [{ ripId: id(5), name: 's1' }] }])
  names.list([1, 3, 2, 99])
  test.same([...names.backends()].length, 1)
  test.equal(names.backend(id(4))?.reals.length, 2, 'a removed backend, with its servers')
  test.same(names.backend(id(2))?.reals.length, 1)
  test.equal(names.backendsOfRip(id(6))?.length, 1)
  test.equal(names.frontend(id(2)), undefined, 'a backend is no frontend')
  test.equal(names.backend('nothing'), undefined)
  test.equal(names.backendsOfRip(id(1)), undefined)
})
