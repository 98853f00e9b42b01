import t, { type Test } from 'tap'
import type { SharedTable } from '../../../storage/config/config-store.ts'
import { newRecoveryCodes, recoveryHash } from '../../../src/auth/recovery-codes.ts'
import { SecondFactors } from '../../../src/auth/second-factors.ts'
import { hotp, newSecret } from '../../../src/auth/totp.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

function fixture(test: Test) {
  const store = openStore(test)
  const clock = manualClock(1_700_000_000_000)
  const codes = newRecoveryCodes()
  const factor = { secret: newSecret(), recoveryCodes: codes.map(recoveryHash), since: '' }
  const code = () => hotp(factor.secret, Math.floor(clock.now_ms() / 30_000))
  return { store, clock, codes, factor, code, open: () => new SecondFactors(store.signIns, store.owed, clock) }
}

t.test('a code is accepted once, also over a restart, and the next one again', async (test) => {
  const { open, factor, code, clock } = fixture(test)
  const factors = open()
  test.ok(await factors.accepts(factor, code()))
  test.notOk(await factors.accepts(factor, code()))
  test.notOk(await open().accepts(factor, code()))
  const other = { ...factor, secret: newSecret() }
  const others = hotp(other.secret, Math.floor(clock.now_ms() / 30_000))
  test.ok(await open().accepts(other, others), 'codes used by one enrolment do not affect another')
  clock.advance(30_000)
  test.ok(await open().accepts(factor, code()))
})

t.test('of two concurrent logins with one code, one succeeds', async (test) => {
  const { open, factor, code, codes } = fixture(test)
  const factors = open()
  const at = code()
  const outcomes = await Promise.all([factors.accepts(factor, at), factors.accepts(factor, at)])
  test.equal(outcomes.filter(Boolean).length, 1)
  const [paper = ''] = codes
  const again = await Promise.all([factors.accepts(factor, paper), factors.accepts(factor, paper)])
  test.equal(again.filter(Boolean).length, 1)
})

t.test('each recovery code is good for one login', async (test) => {
  const { open, factor, codes } = fixture(test)
  const factors = open()
  test.equal(factors.recoveryCodesLeft(factor), 10)
  for (const code of codes) {
    test.ok(await factors.accepts(factor, code))
    test.notOk(await open().accepts(factor, code))
  }
  test.equal(open().recoveryCodesLeft(factor), 0)
  for (const wrong of ['', 'AAAAA-AAAAA', '123456 ', 'x'.repeat(10_000)]) {
    test.notOk(await factors.accepts(factor, wrong))
  }
})

t.test('codes used without a quorum stay used, also over a restart, and the others are told', async (test) => {
  const { store, clock, factor, codes } = fixture(test)
  let hasQuorum = false
  const update: SharedTable['update'] = (build) =>
    hasQuorum ? store.signIns.update(build) : Promise.reject(new ApiError('NO_QUORUM', 'too few answer'))
  const cutOff = new SecondFactors({ ...store.signIns, update }, store.owed, clock)
  const [one = '', two = '', three = ''] = codes
  test.ok(await cutOff.accepts(factor, one))
  const again = new SecondFactors({ ...store.signIns, update }, store.owed, clock)
  test.notOk(await again.accepts(factor, one), 'the next run of the daemon knows it')
  await test.rejects(again.payOwed(), { code: 'NO_QUORUM' })
  hasQuorum = true
  const elsewhere = new SecondFactors(store.signIns, openStore(test).owed, clock)
  test.ok(await elsewhere.accepts(factor, two))
  test.notOk(await again.accepts(factor, one))
  test.equal(again.recoveryCodesLeft(factor), 8)
  await again.payOwed()
  test.notOk(await elsewhere.accepts(factor, one))
  test.same(store.owed.entries(), [])
  test.ok(await elsewhere.accepts(factor, three))
})
