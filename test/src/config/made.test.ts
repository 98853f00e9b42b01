import t from 'tap'
import { madeBy, takenBackBy } from '../../../src/config/made.ts'
import { configFixture, realServer } from '../../fixtures/config.ts'

t.test('changes of a request are relative to its start, also inside a transaction', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const write = (value: unknown, key = 'a') => ({ section: 'realServers', scope: '', key, value })
  const base = write(realServer('a', { weight: 2 }))
  const edits = new Map([
    ['kept', base],
    ['edited', write(realServer('a', { weight: 3 }))],
    ['new', write(realServer('b'), 'b')],
  ])
  const found = new Map([
    ['kept', base],
    ['edited', base],
  ])
  test.match(madeBy(store, found, edits), [
    { id: 'a', before: { weight: 2 }, after: { weight: 3 } },
    { id: 'b', before: undefined, after: { name: 'b' } },
  ])
  test.match(madeBy(store, new Map(), new Map([['x', write(undefined)]])), [
    { id: 'a', before: { name: 'a' }, after: undefined },
  ])
})

t.test('a discarded change is reversed', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const [change] = store.changes()
  test.match(takenBackBy(store, [change?.id ?? '']), [{ id: 'a', before: { name: 'a' }, after: undefined }])
  test.same(takenBackBy(store, []), [])
})
