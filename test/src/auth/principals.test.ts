import t from 'tap'
import { Principals } from '../../../src/auth/principals.ts'
import { configView } from '../../../src/config/views.ts'
import { EVERYTHING } from '../../fixtures/backup.ts'
import { configFixture, user } from '../../fixtures/config.ts'

t.test('a way to log in counts while it is switched on in running; passwords always do', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const principals = new Principals(configView(store.running), () => undefined)
  const ways = ['password', 'radius', 'saml', 'oidc'] as const
  const on = () => ways.filter((way) => principals.isOn(way))
  const put = async (enabled: boolean) => {
    await edit((draft) => {
      for (const one of EVERYTHING.radiusConfigs)
        draft.section('radiusConfigs').put({ ...one, groupMappings: [], enabled })
      for (const one of EVERYTHING.oidcConfigs)
        draft.section('oidcConfigs').put({ ...one, breakGlassUserId: '', groupMappings: [], enabled })
    })
  }
  test.same(on(), ['password'])
  await put(true)
  test.same(on(), ['password'], 'not before the apply')
  await promote()
  test.same(on(), ['password', 'radius', 'oidc'])
  await put(false)
  await promote()
  test.same(on(), ['password'])
})

t.test('a record comes before what an identity provider says', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const principals = new Principals(configView(store.running), () => undefined)
  const introduction = { email: 'u@localhost', source: '', groups: [] }
  test.equal(principals.of('u', introduction), undefined, 'no provider is configured')
  await edit((draft) => draft.section('users').create(user('u')))
  await promote()
  test.match(principals.of('u', introduction), { id: 'u', disabled: false })
})
