import t from 'tap'
import type { Step } from '../../../src/drivers/driver.ts'
import { assertUnchanged } from '../../../src/auth/proof.ts'
import { applianceFixture, recordingMachine } from '../../fixtures/appliance.ts'
import { user } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a proof counts for the account as it was then', async (test) => {
  const secondFactor = { secret: 'A'.repeat(32), recoveryCodes: [], since: '' }
  const proven = user('u', { passwordHash: 'one' })
  test.doesNotThrow(() => assertUnchanged(proven, { ...proven, firstName: 'Other' }))
  for (const now of [
    undefined,
    { ...proven, disabled: true },
    { ...proven, passwordHash: 'two' },
    { ...proven, secondFactor },
  ]) {
    test.throws(() => assertUnchanged(proven, now), { code: 'INVALID_CREDENTIALS' })
  }
})

t.test("a change of one's own account that waits for an apply is checked against its result", async (test) => {
  const real = recordingMachine(temporaryFolder(test, 'slow'))
  const gate = { opens: Promise.resolve(), open: () => undefined as void }
  const executor = {
    check: (steps: readonly Step[]) => real.executor.check(steps),
    execute: async (steps: readonly Step[]) => {
      await gate.opens
      return real.executor.execute(steps)
    },
  }
  const { call, anonymous, login } = await applianceFixture(test, {}, { executor })
  const make = async (name: string) => {
    const body = {
      email: `${name}@localhost`,
      firstname: 'A',
      lastname: 'B',
      password: 'a-password',
      disabled: 'false',
    }
    const { id } = (await call('POST', '/localUsers/users', { body })).json.data
    await call('PUT', '/services/apply')
    return { id, token: await login(body.email, body.password) }
  }
  const [gone, reset] = [await make('gone'), await make('reset')]
  await call('DELETE', `/localUsers/users/${gone.id}`)
  await call('PUT', `/localUsers/users/${reset.id}`, { body: { password: 'by the administrator' } })
  // A change that involves the machine, so that the apply takes as long as the test wants.
  await call('POST', '/layer7proxy/frontends', { body: { name: 'f', mode: 'tcp', ip: '127.0.0.1', ports: '8443' } })
  gate.opens = new Promise<void>((resolve) => (gate.open = resolve))
  const applying = call('PUT', '/services/apply')
  const change = (token: string) =>
    anonymous('PUT', '/localUsers/me/password', {
      token,
      body: { currentPassword: 'a-password', newPassword: 'by the holder' },
    })
  const changes = [change(gone.token), change(reset.token)]
  // Long enough for both to have proven the old password, and to wait.
  await new Promise((resolve) => setTimeout(resolve, 500))
  gate.open()
  test.equal((await applying).status, 200)
  for (const { status } of await Promise.all(changes)) test.ok(status === 401 || status === 404, String(status))
  test.equal((await call('GET', '/localUsers/users')).json.data.length, 2, 'no record of a deleted user')
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const logIn = (password: string) => anonymous('POST', '/token', { body: { email: 'reset@localhost', password } })
  test.equal((await logIn('by the holder')).status, 401)
  test.equal((await logIn('by the administrator')).status, 200)
  test.equal((await anonymous('GET', '/localUsers/me', { token: reset.token })).status, 401)
})
