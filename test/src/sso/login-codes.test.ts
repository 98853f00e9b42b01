import t from 'tap'
import { LoginCodes } from '../../../src/sso/login-codes.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('a code is good once, for a minute', async (test) => {
  const clock = manualClock()
  const codes = new LoginCodes<string>(clock)
  const code = codes.keep('a')
  test.match(code, /^[A-Za-z0-9_-]{43}$/)
  test.throws(() => codes.redeem('other'), { code: 'INVALID_CREDENTIALS' })
  test.equal(codes.redeem(code), 'a')
  test.throws(() => codes.redeem(code), { code: 'INVALID_CREDENTIALS' })
  const late = codes.keep('b')
  clock.advance(60_000)
  test.throws(() => codes.redeem(late), { code: 'INVALID_CREDENTIALS' })
})

t.test('the oldest makes room', async (test) => {
  const codes = new LoginCodes<number>(manualClock(), 3)
  const [first = '', ...others] = [1, 2, 3, 4].map((value) => codes.keep(value))
  test.throws(() => codes.redeem(first), { code: 'INVALID_CREDENTIALS' })
  test.same(
    others.map((code) => codes.redeem(code)),
    [2, 3, 4],
  )
})
