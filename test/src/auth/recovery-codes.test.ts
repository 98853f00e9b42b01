import t from 'tap'
import { newRecoveryCodes, recoveryHash } from '../../../src/auth/recovery-codes.ts'

t.test('ten different codes that people can copy; case, dashes and spaces do not count', async (test) => {
  const codes = newRecoveryCodes()
  test.equal(new Set(codes).size, 10)
  for (const code of codes) test.match(code, /^[A-Z2-7]{5}-[A-Z2-7]{5}$/)
  const [code = ''] = codes
  test.equal(recoveryHash(` ${code.toLowerCase().replace('-', ' ')} `), recoveryHash(code))
  test.not(recoveryHash('AAAAA-AAAAA'), recoveryHash('AAAAA-AAAAB'))
  test.match(recoveryHash(code), /^[0-9a-f]{64}$/)
})
