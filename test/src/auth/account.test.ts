import t from 'tap'
import { hotp } from '../../../src/auth/totp.ts'
import { applianceFixture, ADMIN } from '../../fixtures/appliance.ts'

/** What one does to the own account is tested through the API: test/src/resources/account.test.ts. */

t.test('who proves himself by a password is locked out after five failures, like at a login', async (test) => {
  const { call } = await applianceFixture(test)
  const guess = () =>
    call('PUT', '/localUsers/me/password', { body: { currentPassword: 'guess', newPassword: 'another-one' } })
  for (let n = 0; n < 5; n += 1) test.equal((await guess()).json.code, 'INVALID_CREDENTIALS')
  const locked = await guess()
  test.equal(locked.json.code, 'RATE_LIMITED')
  test.ok(Number(locked.headers['Retry-After']) > 0)
})

t.test('an enrolment that was not confirmed leaves no second factor', async (test) => {
  const { call, anonymous } = await applianceFixture(test)
  await call('POST', '/localUsers/me/2fa', { body: { password: ADMIN.password } })
  test.match((await call('POST', '/localUsers/me/2fa/confirm', { body: { code: '000000' } })).json, {
    code: 'TWO_FACTOR_INVALID',
  })
  test.equal((await anonymous('POST', '/token', { body: ADMIN })).status, 200)
})

t.test(
  'whoever has a session without its password does not guess the code that answers the recovery codes',
  async (test) => {
    const { call } = await applianceFixture(test)
    const { json } = await call('POST', '/localUsers/me/2fa', { body: { password: ADMIN.password } })
    const confirm = (code: string) => call('POST', '/localUsers/me/2fa/confirm', { body: { code } })
    for (let n = 0; n < 5; n += 1) test.equal((await confirm('000000')).json.code, 'TWO_FACTOR_INVALID')
    const right = hotp(json.data.secret, Math.floor(Date.now() / 30_000))
    test.equal((await confirm(right)).json.code, 'RATE_LIMITED')
  },
)
