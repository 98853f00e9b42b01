import t from 'tap'
import { observedHaproxy } from '../../../src/observe/observed-haproxy.ts'
import { SettingsError } from '../../../src/settings.ts'
import { configFixture, realServer } from '../../fixtures/config.ts'

const observe = { path: '/run/haproxy/admin.sock' }
const refused = { code: 'NOT_SUPPORTED', status: 501, message: /at \/run\/haproxy\/admin\.sock/ }

t.test('changes of HAProxy are refused, other operations are not', async (test) => {
  const { store } = configFixture(test)
  test.equal(observedHaproxy({ observe: undefined, state: '/s' }, store), undefined)
  const observed = observedHaproxy({ observe, state: '/s' }, store)
  if (observed === undefined) throw new Error('nothing is observed')
  for (const section of ['l7Frontends', 'l7Backends', 'realServers'] as const)
    test.throws(() => observed.refuseEdit(section), refused)
  for (const section of ['users', 'radiusConfigs'] as const) test.doesNotThrow(() => observed.refuseEdit(section))
  test.same(observed.units.list(), [])
  await test.rejects(observed.units.operate('layer7proxy', 'reload', 'a@b'), refused)
})

t.test('a folder with its own configuration is refused, staged or running', async (test) => {
  const { store, edit, promote } = configFixture(test)
  const begin = () => observedHaproxy({ observe, state: '/s' }, store)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const refusal = new SettingsError(
    '--observe: the state folder /s contains the configuration of another HAProxy; choose another folder with --state',
  )
  test.throws(begin, refusal)
  await promote()
  test.throws(begin, refusal)
})
