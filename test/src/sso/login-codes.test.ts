import t from 'tap'
import { LoginCodes } from '../../../src/sso/login-codes.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const IDP = {}

t.test('a code is valid once, for a minute', async (test) => {
  const clock = manualClock()
  const codes = new LoginCodes<string>(clock)
  const code = codes.keep('a', IDP)
  test.match(code, /^[A-Za-z0-9_-]{43}$/)
  test.throws(() => codes.redeem('other', IDP), { code: 'INVALID_CREDENTIALS' })
  test.equal(codes.redeem(code, IDP), 'a')
  test.throws(() => codes.redeem(code, IDP), { code: 'INVALID_CREDENTIALS' })
  const late = codes.keep('b', IDP)
  clock.advance(60_000)
  test.throws(() => codes.redeem(late, IDP), { code: 'INVALID_CREDENTIALS' })
})

t.test('the oldest is dropped', async (test) => {
  const codes = new LoginCodes<number>(manualClock(), 3)
  const [first = '', ...others] = [1, 2, 3, 4].map((value) => codes.keep(value, IDP))
  test.throws(() => codes.redeem(first, IDP), { code: 'INVALID_CREDENTIALS' })
  test.same(
    others.map((code) => codes.redeem(code, IDP)),
    [2, 3, 4],
  )
})

t.test('a code of one login is valid for that login only, and is used up by an attempt', async (test) => {
  const codes = new LoginCodes<string>(manualClock())
  for (const wrong of ['', '_2', undefined]) {
    const code = codes.keep('a', IDP, '_1')
    test.throws(() => codes.redeem(code, IDP, wrong), { code: 'INVALID_CREDENTIALS' })
    test.throws(() => codes.redeem(code, IDP, '_1'), { code: 'INVALID_CREDENTIALS' })
  }
  test.equal(codes.redeem(codes.keep('a', IDP, '_1'), IDP, '_1'), 'a')
  test.equal(codes.redeem(codes.keep('a', IDP), IDP, '_1'), 'a', 'where it does not count')
})

t.test('a code of a provider that was replaced is used up in vain', async (test) => {
  const codes = new LoginCodes<string>(manualClock())
  const code = codes.keep('a', IDP)
  for (const provider of [{ ...IDP }, IDP])
    test.throws(() => codes.redeem(code, provider), { code: 'INVALID_CREDENTIALS' })
})
