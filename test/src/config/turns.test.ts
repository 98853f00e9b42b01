import t from 'tap'
import { onOneRevision } from '../../../src/config/turns.ts'
import { configFixture, realServer } from '../../fixtures/config.ts'

t.test('work that an apply interrupted is repeated, also when it failed', async (test) => {
  const { edit, promote, store } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  let tries = 0
  const seen = await onOneRevision(store, async () => {
    tries += 1
    if (tries > 1) return store.running.list('realServers', '').length
    await promote()
    throw new Error('half old, half new')
  })
  test.same([seen, tries], [1, 2])
  await test.rejects(
    onOneRevision(store, async () => Promise.reject(new Error('no'))),
    { message: 'no' },
  )
})
