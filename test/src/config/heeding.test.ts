import t from 'tap'
import { heedWarnings } from '../../../src/config/heeding.ts'
import { configView, frozenView } from '../../../src/config/views.ts'
import { backend, configFixture, frontend, realServer, refusalOf } from '../../fixtures/config.ts'

t.test('warnings are reported, or become the refusal on request', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => {
    draft.section('realServers').create(realServer('r', { state: 'halted' }))
    draft.section('l7Backends').create(backend('b', ['r']))
    draft.section('l7Frontends').create(frontend('f', 'b'))
  })
  const frozen = store.changes()
  const views = [configView(store.running), frozenView(store.running, frozen)] as const
  test.match(await heedWarnings(frozen, views, {}, 0), [{ code: 'NO_SERVER_LEFT' }])
  const refusal = await refusalOf(heedWarnings(frozen, views, { refuseWarnings: true }, 0))
  test.match(refusal, { code: 'WARNINGS', details: { data: { warnings: [{ code: 'NO_SERVER_LEFT', name: 'f' }] } } })
  test.same(await heedWarnings([], views, { refuseWarnings: true }, 0), [])
})
