import t from 'tap'
import { hotp } from '../../../src/auth/totp.ts'
import { applianceFixture, ADMIN } from '../../fixtures/appliance.ts'

/** Changes of a user's own account are tested through the API: test/src/resources/account.test.ts. */

t.test("proving one's password is locked after five failures, like a login", async (test) => {
  const { call } = await applianceFixture(test)
  const guess = () =>
    call('PUT', '/localUsers/me/password', { body: { currentPassword: 'guess', newPassword: 'another-one' } })
  for (let n = 0; n < 5; n += 1) test.equal((await guess()).json.code, 'INVALID_CREDENTIALS')
  const locked = await guess()
  test.equal(locked.json.code, 'RATE_LIMITED')
  test.ok(Number(locked.headers['Retry-After']) > 0)
})

t.test('an unconfirmed enrolment leaves no second factor', async (test) => {
  const { call, anonymous } = await applianceFixture(test)
  await call('POST', '/localUsers/me/2fa', { body: { password: ADMIN.password } })
  test.match((await call('POST', '/localUsers/me/2fa/confirm', { body: { code: '000000' } })).json, {
    code: 'TWO_FACTOR_INVALID',
  })
  test.equal((await anonymous('POST', '/token', { body: ADMIN })).status, 200)
})

t.test('a session without the password cannot guess the code that reveals the recovery codes', async (test) => {
  const { call } = await applianceFixture(test)
  const { json } = await call('POST', '/localUsers/me/2fa', { body: { password: ADMIN.password } })
  const confirm = (code: string) => call('POST', '/localUsers/me/2fa/confirm', { body: { code } })
  for (let n = 0; n < 5; n += 1) test.equal((await confirm('000000')).json.code, 'TWO_FACTOR_INVALID')
  const right = hotp(json.data.secret, Math.floor(Date.now() / 30_000))
  test.equal((await confirm(right)).json.code, 'RATE_LIMITED')
})
