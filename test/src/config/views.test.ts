import t from 'tap'
import { configView, frozenView, recordChange } from '../../../src/config/views.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import { configFixture, realServer } from '../../fixtures/config.ts'
import { stageIn } from '../../fixtures/entries.ts'

const weights = (view: ConfigView) => [...view.list('realServers')].map(({ id, weight }) => `${id}=${weight}`).join(' ')

t.test('a view reads typed records of its side', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const [running, candidate] = [configView(store.running), configView(store.candidate)]
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  test.equal(running.get('realServers', 'a'), undefined)
  test.same(candidate.get('realServers', 'a'), realServer('a'))
  test.equal(candidate.get('l7Backends', 'a'), undefined, 'sections are separate')
  await promote()
  test.equal(weights(running), 'a=100')
})

t.test('records of one node are no part of the cluster’s configuration', async (test) => {
  const { store } = configFixture(test)
  const origin = { actor: 'x', endpoint: 'x', at: '2026-01-02T03:04:05.000Z' }
  await stageIn(store, [{ section: 'realServers', scope: 'node-1', key: 'a', value: realServer('a') }], origin)
  const candidate = configView(store.candidate)
  test.equal(candidate.get('realServers', 'a'), undefined)
  test.same([...candidate.list('realServers')], [])
})

t.test('a frozen view is running with exactly the frozen changes, whatever is staged later', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => {
    for (const id of ['b', 'c', 'd']) draft.section('realServers').create(realServer(id))
  })
  await promote()
  await edit((draft) => {
    draft.section('realServers').create(realServer('a'))
    draft.section('realServers').merge('c', { weight: 1 })
    draft.section('realServers').remove('d')
  })
  const all = store.changes()
  const frozen = frozenView(store.running, all)
  const narrow = frozenView(
    store.running,
    all.filter((change) => change.key === 'c'),
  )
  const none = frozenView(store.running, [])
  await edit((draft) => {
    draft.section('realServers').merge('a', { weight: 9 })
    draft.section('realServers').merge('b', { weight: 9 })
    draft.section('realServers').create(realServer('e'))
  })
  test.equal(weights(frozen), 'a=100 b=100 c=1', 'ordered by id')
  test.equal(weights(narrow), 'b=100 c=1 d=100')
  test.equal(weights(none), weights(configView(store.running)))
  test.equal(frozen.get('realServers', 'a')?.weight, 100)
  test.equal(frozen.get('realServers', 'b')?.weight, 100)
  test.equal(frozen.get('realServers', 'c')?.weight, 1)
  test.equal(frozen.get('realServers', 'd'), undefined)
  test.equal(frozen.get('realServers', 'e'), undefined)
  test.equal(frozen.get('l7Backends', 'c'), undefined, 'sections are separate')
})

t.test('a change for drivers holds both records, without the store’s bookkeeping', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const only = () => store.changes().map(recordChange)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  test.same(only(), [{ section: 'realServers', id: 'a', before: undefined, after: realServer('a') }])
  await promote()
  await edit((draft) => draft.section('realServers').merge('a', { weight: 1 }))
  const after = realServer('a', { weight: 1 })
  test.same(only(), [{ section: 'realServers', id: 'a', before: realServer('a'), after }])
  await edit((draft) => draft.section('realServers').remove('a'))
  test.same(only(), [{ section: 'realServers', id: 'a', before: realServer('a'), after: undefined }])
})

t.test('a list is the same object as long as its content is unchanged', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  await promote()
  const list = () => configView(store.running).list('realServers')
  const before = list()
  test.equal(list(), before)
  await edit((draft) => draft.section('realServers').merge('a', { weight: 1 }))
  const frozen = frozenView(store.running, store.changes())
  const frozenBefore = frozen.list('realServers')
  test.equal(frozen.list('realServers'), frozenBefore)
  test.equal(frozen.list('l7Backends'), configView(store.running).list('l7Backends'), 'nothing of it was changed')
  test.equal(list(), before, 'staged changes are no part of it')
  await promote()
  test.not(list(), before)
  test.not(frozen.list('realServers'), frozenBefore, 'the merged list is another one')
  test.equal(weights(configView(store.running)), 'a=1')
  test.equal(weights(frozen), 'a=1')
})
