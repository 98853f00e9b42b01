import t from 'tap'
import { hotp } from '../../src/auth/totp.ts'
import { applianceFixture } from '../fixtures/appliance.ts'
import { createUser, median, PASSWORD, quantile } from './attack-fixture.ts'

/** 2,000 in the long run: FULCRUM_ATTACK_LOGINS=2000. */
const ROUNDS = Number(process.env['FULCRUM_ATTACK_LOGINS'] ?? 40)
/**
 * Noise of a shared machine; a user who can be distinguished at all (no hash is computed) differs by a factor of ten
 * and more.
 */
const FACTOR_MAX = 2

t.test(
  `timing: a refused login takes as long for known, unknown and disabled users and a second factor (${ROUNDS} each)`,
  async (test) => {
    test.setTimeout(0)
    const { call, anonymous, login } = await applianceFixture(test)
    await createUser(call, 'known@localhost')
    await createUser(call, 'factor@localhost')
    const off = await createUser(call, 'disabled@localhost')
    await call('PUT', `/localUsers/users/${off}`, { body: { disabled: 'true' } })
    await call('PUT', '/services/apply')
    const token = await login('factor@localhost', PASSWORD)
    const begun = await anonymous('POST', '/localUsers/me/2fa', { token, body: { password: PASSWORD } })
    const code = hotp(String(begun.json.data.secret), Math.floor(Date.now() / 30_000))
    test.equal((await anonymous('POST', '/localUsers/me/2fa/confirm', { token, body: { code } })).status, 200)
    const kinds = [
      'known@localhost',
      'unknown@localhost',
      'disabled@localhost',
      'factor@localhost',
      `${'x'.repeat(240)}@localhost`,
    ]
    const taken = new Map<string, number[]>(kinds.map((kind) => [kind, []]))
    const locked = new Map<string, number[]>([
      ['known@localhost', []],
      ['unknown@localhost', []],
    ])
    const time = async (email: string, address: string, status: number) => {
      const from = performance.now()
      const answer = await anonymous('POST', '/token', { body: { email, password: 'wrong' }, address })
      test.equal(answer.status, status)
      return performance.now() - from
    }
    for (let round = -2; round < ROUNDS; round += 1) {
      // Another address each time, or they would be locked out.
      const address = `2001:db8:${(round + 2).toString(16)}::1`
      for (const email of kinds) {
        const took_ms = await time(email, address, 401)
        if (round >= 0) taken.get(email)?.push(took_ms)
      }
    }
    for (const email of locked.keys()) for (let n = 0; n < 5; n += 1) await time(email, '192.0.2.99', 401)
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [email, list] of locked) list.push(await time(email, '192.0.2.99', 429))
    for (const [what, group] of [
      ['refused', taken],
      ['locked', locked],
    ] as const) {
      for (const [email, list] of group)
        test.comment(
          `${what} ${email.slice(0, 20)}: median ${median(list).toFixed(2)} ms, 10 to 90 % ${quantile(list, 0.1).toFixed(2)} to ${quantile(list, 0.9).toFixed(2)}`,
        )
      const medians = [...group.values()].map(median)
      test.ok(Math.max(...medians) < FACTOR_MAX * Math.min(...medians) + 1, `${what}: within noise`)
    }
  },
)
