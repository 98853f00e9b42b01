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

t.test('a code of one login is good for that login only, and is used up by a try', async (test) => {
  const codes = new LoginCodes<string>(manualClock())
  for (const wrong of ['', '_2', undefined]) {
    const code = codes.keep('a', '_1')
    test.throws(() => codes.redeem(code, wrong), { code: 'INVALID_CREDENTIALS' })
    test.throws(() => codes.redeem(code, '_1'), { code: 'INVALID_CREDENTIALS' })
  }
  test.equal(codes.redeem(codes.keep('a', '_1'), '_1'), 'a')
  test.equal(codes.redeem(codes.keep('a'), '_1'), 'a', 'where it does not count')
})
