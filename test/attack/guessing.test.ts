import t, { type Test } from 'tap'
import { hotp } from '../../src/auth/totp.ts'
import { type MachineClock, systemClock } from '../../src/base/clock.ts'
import { ADMIN, applianceFixture } from '../fixtures/appliance.ts'
import { createUser, PASSWORD } from './attack-fixture.ts'

const WINDOW_MS = 15 * 60_000 + 1000
const CODE_MS = 30_000

async function fixture(test: Test) {
  let passed_ms = 0
  // It is at the beginning of a code's period: in the next period, the next code counts.
  const begun_ms = Math.floor(systemClock.now_ms() / CODE_MS) * CODE_MS
  const clock: MachineClock = {
    ...systemClock,
    now_ms: () => begun_ms + passed_ms,
    monotonic_ms: () => systemClock.monotonic_ms() + passed_ms,
  }
  const made = await applianceFixture(test, {}, {}, clock)
  const attempt = async (email: string, password: string, address = '192.0.2.66', headers = {}, code?: string) => {
    const body = { email, password, ...(code === undefined ? {} : { code }) }
    return made.anonymous('POST', '/token', { body, address, headers })
  }
  const statuses = async (times: number, work: (n: number) => Promise<{ readonly status: number }>) => {
    const all: number[] = []
    for (let n = 0; n < times; n += 1) all.push((await work(n)).status)
    return all
  }
  return { ...made, attempt, statuses, pass: (ms: number) => (passed_ms += ms), now_ms: () => clock.now_ms() }
}
const FIVE = [401, 401, 401, 401, 401, 429]

t.test('brute force: five guesses in fifteen minutes, however the name or the sender is written', async (test) => {
  const { call, attempt, statuses, pass } = await fixture(test)
  await createUser(call, 'kim@localhost')
  await call('PUT', '/services/apply')
  // The last has a Kelvin sign, whose lower case is k.
  const names = [
    'kim@localhost',
    'KIM@LOCALHOST',
    'Kim@localhost',
    'kIm@Localhost',
    'kim@LOCALHOST',
    '\u212aim@localhost',
  ]
  test.same(await statuses(6, (n) => attempt(names[n] ?? '', 'wrong')), FIVE, 'letters of another case')
  for (const name of names) test.equal((await attempt(name, PASSWORD)).status, 429, `${name}, with the right password`)
  pass(WINDOW_MS)
  test.equal((await attempt('kim@localhost', PASSWORD)).status, 200)
  for (const name of [
    ' kim@localhost',
    'kim@localhost ',
    'kim@localhost.',
    'kım@localhost',
    'kіm@localhost',
    'kim＠localhost',
    'kim@localhost\u200b',
    'ki\u0301m@localhost',
  ])
    test.not((await attempt(name, PASSWORD, '192.0.2.70')).status, 200, `${JSON.stringify(name)} is another user`)
  const forwarded = (n: number) => ({
    'x-forwarded-for': `203.0.113.${n}`,
    forwarded: `for=203.0.113.${n}`,
    'x-real-ip': `203.0.113.${n}`,
    'x-client-ip': `203.0.113.${n}`,
    'cf-connecting-ip': `203.0.113.${n}`,
    'true-client-ip': `203.0.113.${n}`,
  })
  test.same(
    await statuses(6, (n) => attempt('kim@localhost', 'wrong', '192.0.2.71', forwarded(n))),
    FIVE,
    'headers of proxies',
  )
  test.same(
    await statuses(6, (n) => attempt('kim@localhost', 'wrong', `2001:db8:1:2:${n}::${n}`)),
    FIVE,
    'a /64 network',
  )
  const written = [
    '2001:db8:1:3::1',
    '2001:0db8:0001:0003::1',
    '2001:DB8:1:3:0:0:0:1',
    '2001:db8:1:3:ffff::',
    '2001:db8:1:3::2',
    '2001:db8:1:3::3',
  ]
  test.same(
    await statuses(6, (n) => attempt('kim@localhost', 'wrong', written[n])),
    FIVE,
    'an address in other notations',
  )
})

t.test('brute force: fifty guesses at once are five; a success of another user unlocks nothing', async (test) => {
  const { call, attempt, statuses } = await fixture(test)
  await createUser(call, 'kim@localhost')
  await createUser(call, 'eve@localhost')
  await call('PUT', '/services/apply')
  const all = await Promise.all(Array.from({ length: 50 }, (_, n) => attempt('kim@localhost', `wrong ${n}`)))
  test.ok(all.filter(({ status }) => status !== 429).length <= 5, 'checked')
  test.equal(all.filter(({ status }) => status === 200).length, 0)
  test.equal(
    (await attempt('eve@localhost', PASSWORD)).status,
    200,
    'another account of the same address is not locked',
  )
  test.equal((await attempt('kim@localhost', PASSWORD)).status, 429, 'and its success changes nothing')
  test.same(await statuses(6, () => attempt('nobody@localhost', 'wrong')), FIVE, 'an unknown name is locked as well')
})

t.test('brute force: other ways to try a password share the lock of the login', async (test) => {
  const { call, anonymous, login, attempt, statuses, pass } = await fixture(test)
  await createUser(call, 'kim@localhost')
  await call('PUT', '/services/apply')
  // A session that was left open: the attacker does not know the password.
  const ways: readonly (readonly [method: string, path: string, body: (password: string) => unknown])[] = [
    [
      'PUT',
      '/localUsers/me/password',
      (currentPassword) => ({ currentPassword, newPassword: 'another long password' }),
    ],
    ['POST', '/localUsers/me/2fa', (password) => ({ password })],
    ['DELETE', '/localUsers/me/2fa', (password) => ({ password, code: '000000' })],
  ]
  for (const [method, path, body] of ways) {
    const token = await login('kim@localhost', PASSWORD)
    const guess = (password: string) => anonymous(method, path, { token, body: body(password), address: '192.0.2.66' })
    test.same(await statuses(6, () => guess('wrong')), FIVE, `${method} ${path}`)
    test.equal((await guess(PASSWORD)).status, 429, 'also with the right one')
    test.equal((await attempt('kim@localhost', PASSWORD)).status, 429, 'nor at the login')
    pass(WINDOW_MS)
    test.same(await statuses(6, () => attempt('kim@localhost', 'wrong')), FIVE)
    test.equal((await guess(PASSWORD)).status, 429, 'five at the login count here')
    pass(WINDOW_MS)
  }
})

/** A user with a second factor. */
async function enrolled(test: Test) {
  const made = await fixture(test)
  const { call, anonymous, login, now_ms } = made
  await createUser(call, 'kim@localhost')
  await call('PUT', '/services/apply')
  const token = await login('kim@localhost', PASSWORD)
  const begun = await anonymous('POST', '/localUsers/me/2fa', { token, body: { password: PASSWORD } })
  const secret = String(begun.json.data.secret)
  const code = () => hotp(secret, Math.floor(now_ms() / CODE_MS))
  const confirmed = await anonymous('POST', '/localUsers/me/2fa/confirm', { token, body: { code: code() } })
  const codes: readonly string[] = confirmed.json.data.recoveryCodes
  const enter = (sent: string, address?: string) => made.attempt('kim@localhost', PASSWORD, address, {}, sent)
  return { ...made, token, code, codes, enter }
}

t.test(
  'second factor: codes cannot be guessed, not even from many addresses or at once, and none counts twice',
  async (test) => {
    const { enter, code, codes, statuses, pass } = await enrolled(test)
    test.equal((await enter(code())).status, 401, 'the code that confirmed it')
    pass(WINDOW_MS)
    const [now, parallel] = [
      code(),
      await Promise.all(Array.from({ length: 5 }, (_, n) => enter(code(), `198.51.100.${n}`))),
    ]
    test.equal(parallel.filter(({ status }) => status === 200).length, 1, 'one code at five places at once')
    test.equal((await enter(now)).status, 401, 'replayed')
    pass(WINDOW_MS)
    const guesses = await statuses(6, (n) => enter(String(100_000 + n), `203.0.113.${n}`))
    test.same(guesses, FIVE, 'from many addresses')
    test.equal((await enter(code(), '203.0.113.99')).status, 429)
    pass(WINDOW_MS)
    for (const [n, sent] of [
      'AAAAA-AAAAA',
      '      ',
      '١٢٣٤٥٦',
      '000000\n',
      `${codes[0]?.slice(0, -1)}`,
      `${codes[0]}x`,
    ].entries()) {
      test.equal((await enter(sent, `203.0.113.${n}`)).status, 401, `recovery codes: ${JSON.stringify(sent)}`)
      // The lock would hide what comes of the next one.
      pass(WINDOW_MS)
    }
    const same = await Promise.all(Array.from({ length: 4 }, (_, n) => enter(codes[0] ?? '', `198.51.100.${n}`)))
    test.equal(same.filter(({ status }) => status === 200).length, 1, 'one recovery code at four places at once')
    test.equal(
      (await enter(` ${codes[0]?.toLowerCase().replace('-', ' ')} `)).status,
      401,
      'another notation is the same code',
    )
  },
)

t.test(
  'second factor: guessing while it is switched off counts as well, and reveals nothing without the password',
  async (test) => {
    const { anonymous, enter, code, token, statuses, pass } = await enrolled(test)
    pass(60_000)
    const off = (password: string, sent: string) =>
      anonymous('DELETE', '/localUsers/me/2fa', { token, body: { password, code: sent }, address: '192.0.2.80' })
    test.match((await off('wrong', code())).json, { code: 'INVALID_CREDENTIALS' })
    test.same(await statuses(6, (n) => off(PASSWORD, String(200_000 + n))), FIVE)
    test.equal((await enter(code(), '192.0.2.81')).status, 429, 'the login is locked too')
  },
)

t.test('single sign-on: codes and answers of an identity provider cannot be guessed', async (test) => {
  const { anonymous } = await fixture(test)
  for (const code of ['', 'x', '0'.repeat(64), 'A'.repeat(43), '__proto__', '\u0000', 'null'])
    for (const path of ['/saml/token', '/saml/acs', '/oidc/token']) {
      const body = path === '/saml/acs' ? { SAMLResponse: code } : { code }
      const { status } = await anonymous('POST', path, { body })
      test.ok(status >= 400 && status < 500, `${path} ${JSON.stringify(code)}: ${status}`)
    }
})

t.test('login options and refusals are the same bytes for every name', async (test) => {
  const { call, anonymous, attempt, statuses } = await enrolled(test)
  const disabled = await createUser(call, 'off@localhost')
  await call('PUT', `/localUsers/users/${disabled}`, { body: { disabled: 'true' } })
  await call('PUT', '/services/apply')
  const names = ['kim@localhost', 'off@localhost', ADMIN.email, 'nobody@localhost', 'x@[::1]', '__proto__']
  const options = await Promise.all(names.map((email) => anonymous('POST', '/login/options', { body: { email } })))
  const refusals = await Promise.all(names.map((email) => attempt(email, 'wrong', '192.0.2.90')))
  for (const answers of [options, refusals])
    test.same(new Set(answers.map(({ status, text, headers }) => JSON.stringify([status, text, headers]))).size, 1)
  for (const name of ['off@localhost', 'nobody@localhost'])
    test.same(
      await statuses(5, () => attempt(name, 'wrong', '192.0.2.90')),
      FIVE.slice(1),
      `${name} is locked likewise`,
    )
})
