import t from 'tap'
import { ownAppliance } from '../../fixtures/shared-appliance.ts'

const BODY = { name: 'ca', termsAgreed: true }

t.test('only a trial contacts a CA on its own machine', async (test) => {
  const sent = async (profile: 'trial' | 'appliance', directoryUrl: string) => {
    const { call } = await ownAppliance(test, { more: { profile } })
    return (await call('POST', '/certificates/acme/accounts', { body: { ...BODY, directoryUrl } })).status
  }
  test.equal(await sent('trial', 'https://127.0.0.1:14000/dir'), 201)
  test.equal(await sent('appliance', 'https://127.0.0.1:14000/dir'), 422)
  test.equal(await sent('appliance', 'https://192.0.2.1/dir'), 201)
  test.equal(await sent('trial', 'https://169.254.169.254/dir'), 422)
})
