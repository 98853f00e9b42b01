import t from 'tap'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('the login policy is staged, and is the same for everybody who asks', async (test) => {
  const { call, anonymous } = await borrow()
  test.match((await call('GET', '/login/policy')).json.data, { twoFactorRequired: false })
  await call('PUT', '/login/policy', { body: { twoFactorRequired: true } })
  const options = async (email: string) => (await anonymous('POST', '/login/options', { body: { email } })).json.data
  test.match(await options('admin@localhost'), { '2faRequired': false }, 'not before it is applied')
  await call('PUT', '/services/apply')
  test.same(await options('admin@localhost'), await options('nobody@localhost'))
  test.match(await options('nobody@localhost'), {
    loginType: 'password',
    ssoEnforced: false,
    samlConfigured: false,
    samlEnforced: false,
    oidcConfigured: false,
    oidcEnforced: false,
    '2faRequired': true,
  })
})
