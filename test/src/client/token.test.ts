import t from 'tap'
import { Token } from '../../../src/client/token.ts'

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const now_s = () => Math.floor(Date.now() / 1000)
const jwt = (iat: number, exp: number, name = '') => `${part({ alg: 'x' })}.${part({ iat, exp, name })}.signature`
const HOUR_S = 3600

t.test('the token of a session is renewed before its end, once for all waiting requests', async (test) => {
  const token = new Token()
  token.hold(jwt(now_s() - HOUR_S, now_s() + 300), false)
  let asked = 0
  const ask = async () => {
    asked += 1
    return jwt(now_s(), now_s() + HOUR_S, 'next')
  }
  await Promise.all([token.renewed(ask), token.renewed(ask)])
  test.equal(asked, 1)
  test.match(Buffer.from(String(token.value).split('.')[1] ?? '', 'base64url').toString(), /next/)
  await token.renewed(ask)
  test.equal(asked, 1, 'the new one lives long enough')
})

t.test('a fresh one lives as long as it says, whatever the clock of this machine', async (test) => {
  const token = new Token()
  const early_s = now_s() - 5 * HOUR_S
  token.hold(jwt(early_s, early_s + HOUR_S), true)
  await token.renewed(() => Promise.reject(new Error('asked')))
  token.hold(jwt(early_s, early_s + HOUR_S), false)
  let asked = false
  await token.renewed(async () => {
    asked = true
    return undefined
  })
  test.ok(asked, 'an older one says when it ends')
})

t.test('if renewal fails, the old token is used', async (test) => {
  const token = new Token(2 * HOUR_S)
  const old = jwt(now_s(), now_s() + HOUR_S)
  token.hold(old, true)
  await token.renewed(() => Promise.reject(new Error('nobody answers')))
  test.equal(token.value, old)
  await token.renewed(async () => undefined)
  test.equal(token.value, old)
})

t.test('the token of a program has no end, and neither has an invalid one', async (test) => {
  const token = new Token()
  for (const value of ['ful_0190_secret', 'a.b', 'a.%%%.c', `a.${part({})}.c`]) {
    token.hold(value, false)
    await token.renewed(() => Promise.reject(new Error('asked')))
    test.equal(token.value, value)
  }
  token.hold(undefined, false)
  await token.renewed(() => Promise.reject(new Error('asked')))
  test.equal(token.value, undefined)
})

t.test('a concurrent login is not undone by a renewal', async (test) => {
  const token = new Token()
  token.hold(jwt(now_s() - HOUR_S, now_s() + 1), false)
  const fresh = jwt(now_s(), now_s() + HOUR_S, 'login')
  await token.renewed(async () => {
    token.hold(fresh, true)
    return jwt(now_s(), now_s() + HOUR_S, 'renewal')
  })
  test.equal(token.value, fresh)
})
