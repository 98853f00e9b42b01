import t, { type Test } from 'tap'
import { chosenChanges } from '../../../src/config/chosen-changes.ts'
import { ANYTHING, backend, configFixture, realServer, refuses, user } from '../../fixtures/config.ts'

const ME = { by: 'tester@localhost', may: ANYTHING }

function fixture(test: Test) {
  const config = configFixture(test)
  const { store, editing, edit } = config
  const idOf = (key: string) => store.changes().find((change) => change.key === key)?.id ?? ''
  const keys = (ids: ReadonlySet<string>) => store.changes().flatMap(({ id, key }) => (ids.has(id) ? [key] : []))
  const origin = { actor: 'other@localhost', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }
  const other = (work: Parameters<typeof edit>[0]) => editing.edit(origin, undefined, work)
  return { ...config, idOf, keys, other }
}

t.test('all, the named ones, or one’s own', async (test) => {
  const { store, edit, other, idOf, keys } = fixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await other((draft) => draft.section('realServers').create(realServer('b')))
  test.same(keys(chosenChanges(store, {}, ME)), ['a', 'b'])
  test.same(keys(chosenChanges(store, { mine: false }, ME)), ['a', 'b'])
  test.same(keys(chosenChanges(store, { mine: true }, ME)), ['a'])
  test.same(keys(chosenChanges(store, { changes: [idOf('b')] }, ME)), ['b'])
  const error = await refuses(test, 'INVALID_BODY', () => chosenChanges(store, { changes: [idOf('b'), 'no'] }, ME))
  test.match(error.details.errors, [{ field: 'changes.1', code: 'NOT_FOUND' }])
})

t.test('a caller without the right for one of them is told which, and how to proceed', async (test) => {
  const { store, edit, idOf, keys } = fixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await edit((draft) => draft.section('groups').create({ id: 'g', name: 'g', roles: [] }))
  const may = (name: string) => name === 'realServers.create'
  const error = await refuses(test, 'PERMISSION_DENIED', () => chosenChanges(store, {}, { ...ME, may }))
  test.match(error.details.errors, [{ field: idOf('g'), code: 'PERMISSION_DENIED' }])
  test.match(error.message, /"changes": \[ids\].*"mine": true/)
  test.same(keys(chosenChanges(store, { changes: [idOf('a')] }, { ...ME, may })), ['a'])
})

t.test('a refused choice names all changes that it needs, step by step, and no more', async (test) => {
  const { store, edit, idOf } = fixture(test)
  const draftOf = (id: string) => edit((draft) => draft.section('realServers').create(realServer(id)))
  await draftOf('a')
  await draftOf('unrelated')
  await edit((draft) => draft.section('l7Backends').create(backend('b', ['a'])))
  const error = await refuses(test, 'DEPENDS_ON_PENDING', () => chosenChanges(store, { changes: [idOf('b')] }, ME))
  test.match(error.details.errors, [{ field: idOf('a'), code: 'DEPENDS_ON_PENDING', message: /real server a/ }])
  test.equal(error.details.errors?.length, 1)
  test.equal(chosenChanges(store, { changes: [idOf('b'), idOf('a')] }, ME).size, 2)
})

t.test('a deletion needs the change that drops the reference, and a name the change that frees it', async (test) => {
  const { store, edit, promote, idOf } = fixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a', { name: 'one' })))
  await edit((draft) => draft.section('realServers').create(realServer('c')))
  await edit((draft) => draft.section('l7Backends').create(backend('b', ['c'])))
  await promote()
  await edit((draft) => draft.section('l7Backends').merge('b', { reals: [] }))
  await edit((draft) => draft.section('realServers').remove('c'))
  await edit((draft) => draft.section('realServers').merge('a', { name: 'two' }))
  await edit((draft) => draft.section('realServers').create(realServer('d', { name: 'ONE' })))
  const needs = async (key: string) => {
    const error = await refuses(test, 'DEPENDS_ON_PENDING', () => chosenChanges(store, { changes: [idOf(key)] }, ME))
    return error.details.errors?.map(({ field }) => field)
  }
  test.same(await needs('c'), [idOf('b')])
  test.same(await needs('d'), [idOf('a')])
  test.equal(chosenChanges(store, { changes: [idOf('b')] }, ME).size, 1, 'the other way round nothing is needed')
})

t.test('changes of access are applied together', async (test) => {
  const { store, edit, other, idOf } = fixture(test)
  await edit((draft) => draft.section('users').create(user('u')))
  await other((draft) => draft.section('groups').create({ id: 'g', name: 'g', roles: [] }))
  await other((draft) => draft.section('realServers').create(realServer('a')))
  const error = await refuses(test, 'DEPENDS_ON_PENDING', () => chosenChanges(store, { mine: true }, ME))
  test.match(error.details.errors, [{ field: idOf('g') }])
  test.equal(chosenChanges(store, { changes: [idOf('u'), idOf('g')] }, ME).size, 2)
  test.equal(chosenChanges(store, { changes: [idOf('a')] }, ME).size, 1)
})

t.test('a long chain of names is resolved in one look, and not in one for each name', async (test) => {
  const { store, edit, promote, idOf } = fixture(test)
  const COUNT = 40
  const ids = Array.from({ length: COUNT }, (_, n) => `s${String(n).padStart(2, '0')}`)
  await edit((draft) => ids.forEach((id) => draft.section('realServers').create(realServer(id))))
  await promote()
  await edit((draft) => {
    for (const [n, id] of [...ids.entries()].toReversed())
      draft.section('realServers').merge(id, { name: ids[n + 1] ?? 'the last' })
  })
  let looks = 0
  const running: typeof store.running = {
    get: (...key) => store.running.get(...key),
    list: (...of) => {
      looks += 1
      return store.running.list(...of)
    },
  }
  const asked = { changes: [idOf('s00')] }
  const chosen = () => chosenChanges({ changes: () => store.changes(), agreed: running, running }, asked, ME)
  const error = await refuses(test, 'DEPENDS_ON_PENDING', chosen)
  test.equal(error.details.errors?.length, COUNT - 1)
  test.ok(looks < 500, `${looks} lists`)
})
