import t from 'tap'
import type { Draft } from '../../../src/config/draft.ts'
import { Editing } from '../../../src/config/editing.ts'
import { configView } from '../../../src/config/views.ts'
import { ANYTHING, configFixture, realServer, refusalOf, refuses, user } from '../../fixtures/config.ts'

const origin = { actor: 'tester@localhost', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }

t.test('an edit returns the result of its work, once its writes are in the candidate', async (test) => {
  const { editing, store } = configFixture(test)
  const answer = await editing.edit(origin, undefined, (draft) => {
    draft.section('realServers').create(realServer('a'))
    return 'made'
  })
  test.equal(answer, 'made')
  test.match(store.changes(), [{ key: 'a', actor: 'tester@localhost', endpoint: 'test', at: origin.at }])
})

t.test('an edit that waits in the middle keeps its turn: the next one sees its writes', async (test) => {
  const { editing, store } = configFixture(test)
  let open: () => void = () => undefined
  const gate = new Promise<void>((resolve) => (open = resolve))
  const order: string[] = []
  const first = editing.edit(origin, undefined, async (draft) => {
    order.push('first begins')
    await gate
    draft.section('realServers').create(realServer('a', { weight: 1 }))
    order.push('first ends')
  })
  const second = editing.edit(origin, undefined, (draft) => {
    order.push('second begins')
    const { weight } = draft.section('realServers').get('a')
    draft.section('realServers').merge('a', { weight: weight + 1 })
  })
  open()
  await Promise.all([first, second])
  test.same(order, ['first begins', 'first ends', 'second begins'])
  test.match(store.candidate.get('realServers', '', 'a')?.value, { weight: 2 })
})

t.test('a refusal or a defect writes nothing and does not block the next edit', async (test) => {
  const { editing, store } = configFixture(test)
  const refused = editing.edit(origin, undefined, (draft) => {
    draft.section('realServers').create(realServer('a'))
    draft.section('realServers').remove('missing')
  })
  const broken = editing.edit(origin, undefined, async (draft) => {
    draft.section('realServers').create(realServer('b'))
    throw new Error('a defect')
  })
  const fine = editing.edit(origin, undefined, (draft) => draft.section('realServers').create(realServer('c')))
  await refuses(test, 'NOT_FOUND', refused)
  await test.rejects(broken, { message: 'a defect' })
  await fine
  test.same(
    store.changes().map((change) => change.key),
    ['c'],
  )
})

t.test('work that changes nothing writes nothing', async (test) => {
  const { editing, store, edit } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const before = store.candidate.get('realServers', '', 'a')
  await editing.edit(origin, undefined, (draft) => draft.section('realServers').get('a'))
  test.equal(store.candidate.get('realServers', '', 'a'), before)
})

t.test('a draft discards changes', async (test) => {
  const { editing, store, edit, promote } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await promote()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 7 }))
  await edit((draft) => draft.section('realServers').create(realServer('b')))
  const [change] = store.changes()
  await editing.edit(origin, undefined, (draft) => draft.discard({ id: change?.id ?? '' }, ANYTHING))
  test.match(store.candidate.get('realServers', '', 'a')?.value, { weight: 100 })
  await editing.edit(origin, undefined, (draft) => draft.discard('all', ANYTHING))
  test.same(store.changes(), [])
})

t.test('an edit that no user could undo is refused, except from a backup, whose check reports it', async (test) => {
  const { store } = configFixture(test)
  const editing = new Editing(store, 'admin')
  const edit = (endpoint: string, work: (draft: Draft) => void) =>
    editing.edit({ actor: 'a@b', endpoint, at: '2026-01-02T03:04:05.000Z' }, undefined, work)
  await edit('localUsers.create', (draft) => {
    draft.section('roles').create({ id: 'admin', name: 'Administrator', builtin: true, endpoints: [] })
    draft.section('users').create(user('u', { roles: ['admin'] }))
  })
  const disable = (draft: Draft) => draft.section('users').merge('u', { disabled: true })
  test.match(await refusalOf(edit('localUsers.update', disable)), { code: 'IN_USE' })
  test.equal(configView(store.candidate).get('users', 'u')?.disabled, false)
  await edit('backups.restore', disable)
  test.equal(configView(store.candidate).get('users', 'u')?.disabled, true)
})
