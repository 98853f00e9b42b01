import t from 'tap'
import { ANYTHING, backend, configFixture, realServer, refuses, user } from '../../fixtures/config.ts'
import { stageIn } from '../../fixtures/entries.ts'

t.test('one pending change is discarded', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await edit((draft) => draft.section('realServers').create(realServer('b')))
  const [first] = store.changes()
  await edit((draft) => draft.discard({ id: first?.id ?? '' }, ANYTHING))
  test.same(
    store.changes().map((change) => change.key),
    ['b'],
  )
})

t.test('without an id all of them are discarded', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await edit((draft) => draft.discard('all', ANYTHING))
  test.same(store.changes(), [])
})

t.test('an unknown change is not found', async (test) => {
  const { edit } = configFixture(test)
  await refuses(
    test,
    'NOT_FOUND',
    edit((draft) => draft.discard({ id: 'nope' }, ANYTHING)),
  )
})

t.test('a change that other pending changes need stays', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await edit((draft) => draft.section('l7Backends').create(backend('b', ['a'])))
  const [first] = store.changes()
  const error = await refuses(
    test,
    'IN_USE',
    edit((draft) => draft.discard({ id: first?.id ?? '' }, ANYTHING)),
  )
  test.match(error.details.data, { usage: [{ resource: 'l7Backends', id: 'b' }] })
  test.equal(store.changes().length, 2)
})

t.test('discarding a rename must not make two records of one name', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a', { name: 'one' })))
  await promote()
  await edit((draft) => draft.section('realServers').merge('a', { name: 'two' }))
  await edit((draft) => draft.section('realServers').create(realServer('b', { name: 'one' })))
  const [rename] = store.changes()
  await refuses(
    test,
    'NAME_NOT_UNIQUE',
    edit((draft) => draft.discard({ id: rename?.id ?? '' }, ANYTHING)),
  )
})

t.test('only a user who could have made a change can discard it', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await edit((draft) => draft.section('users').create(user('u')))
  const [server, person] = store.changes().map(({ id }) => id)
  const may = (name: string) => name.startsWith('realServers')
  const refused = await refuses(
    test,
    'PERMISSION_DENIED',
    edit((draft) => draft.discard('all', may)),
  )
  test.match(refused.details.errors, [{ field: person }])
  await refuses(
    test,
    'PERMISSION_DENIED',
    edit((draft) => draft.discard({ id: person ?? '' }, may)),
  )
  const mine = await refuses(
    test,
    'PERMISSION_DENIED',
    edit((draft) => draft.discard({ by: store.changes()[0]?.actor ?? '' }, may)),
  )
  test.match(mine.message, /are discarded together; discard others with DELETE .services.pending.\{changeId\}/)
  test.notMatch(mine.message, /mine=true/, 'which was just refused')
  await edit((draft) => draft.discard({ id: server ?? '' }, may))
  test.match(store.changes(), [{ key: 'u' }])
})

t.test('changes of access are discarded together; one’s own with one option', async (test) => {
  const { edit, editing, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await edit((draft) => draft.section('users').create(user('u')))
  const origin = { actor: 'other@localhost', endpoint: 'x', at: '2026-01-02T03:04:05.000Z' }
  await editing.edit(origin, undefined, (draft) => draft.section('users').create(user('v')))
  await editing.edit(origin, undefined, (draft) => draft.section('realServers').create(realServer('b')))
  const first = store.changes().find(({ key }) => key === 'u')
  await edit((draft) => test.same(draft.discard({ id: first?.id ?? '' }, ANYTHING), { count: 2, others: 1 }))
  test.match(store.changes(), [{ key: 'a' }, { key: 'b' }])
  await edit((draft) => draft.discard({ by: origin.actor }, ANYTHING))
  test.match(store.changes(), [{ key: 'a' }])
  await edit((draft) => test.same(draft.discard({ by: 'nobody' }, ANYTHING), { count: 0, others: 0 }))
  await edit((draft) => draft.section('users').create(user('u')))
  await editing.edit(origin, undefined, (draft) => draft.section('users').create(user('v')))
  const both = { count: 2, others: 1 }
  await edit((draft) => test.same(draft.discard({ by: origin.actor }, ANYTHING), both, 'of others, which is reported'))
  test.match(store.changes(), [{ key: 'a' }])
})

t.test('changes broken by a reverted apply are discarded one by one', async (test) => {
  const { edit, store } = configFixture(test)
  // As a revert leaves it: pending changes of records that no longer run.
  const origin = { actor: 'x', endpoint: 'x', at: '2026-01-02T03:04:05.000Z' }
  const records = [backend('b', ['gone']), backend('c', ['gone'])]
  await stageIn(
    store,
    records.map((value) => ({ section: 'l7Backends', scope: '', key: value.id, value })),
    origin,
  )
  await edit((draft) => draft.section('realServers').create(realServer('unrelated')))
  await stageIn(
    store,
    ['s', 't'].map((id) => ({ section: 'groups', scope: '', key: id, value: { id, name: 'same', roles: [] } })),
    origin,
  )
  while (store.changes().length > 0) {
    const [{ id } = { id: '' }] = store.changes()
    await edit((draft) => draft.discard({ id: id }, ANYTHING))
  }
})
