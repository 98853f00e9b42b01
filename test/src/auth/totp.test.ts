import t from 'tap'
import { base32, hotp, looksLikeCode, newSecret, otpauthUri, stepOfCode } from '../../../src/auth/totp.ts'

const RFC_SECRET = base32(Buffer.from('12345678901234567890'))

t.test('the values of RFC 4226, appendix D', async (test) => {
  const wanted = '755224 287082 359152 969429 338314 254676 287922 162583 399871 520489'.split(' ')
  test.same(
    wanted.map((_, counter) => hotp(RFC_SECRET, counter)),
    wanted,
  )
})

t.test('the values of RFC 6238, appendix B', async (test) => {
  const wanted: readonly (readonly [number, string])[] = [
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ]
  for (const [at_s, code] of wanted) test.equal(hotp(RFC_SECRET, Math.floor(at_s / 30), 8), code)
})

t.test('the values of RFC 4648', async (test) => {
  const pairs = { f: 'MY', fo: 'MZXQ', foo: 'MZXW6', foob: 'MZXW6YQ', fooba: 'MZXW6YTB', foobar: 'MZXW6YTBOI' }
  for (const [text, encoded] of Object.entries(pairs)) test.equal(base32(Buffer.from(text)), encoded)
})

t.test('a code counts one step before and after its own, and only once', async (test) => {
  const step = 1000
  const now_ms = step * 30_000 + 12_000
  for (const near of [-1, 0, 1]) {
    test.equal(stepOfCode(RFC_SECRET, hotp(RFC_SECRET, step + near), now_ms, 0), step + near)
  }
  for (const far of [-2, 2]) test.equal(stepOfCode(RFC_SECRET, hotp(RFC_SECRET, step + far), now_ms, 0), undefined)
  test.equal(stepOfCode(RFC_SECRET, hotp(RFC_SECRET, step), now_ms, step), undefined, 'used before')
  test.equal(stepOfCode(RFC_SECRET, hotp(RFC_SECRET, step - 1), now_ms, step), undefined, 'older than a used one')
  for (const wrong of ['', '1', '000000', hotp(RFC_SECRET, step).slice(1), `${hotp(RFC_SECRET, step)}0`]) {
    test.equal(stepOfCode(RFC_SECRET, wrong, now_ms, 0), undefined, wrong)
  }
})

t.test('a secret has 160 bits, and its URI is one that apps read', async (test) => {
  const secret = newSecret()
  test.match(secret, /^[A-Z2-7]{32}$/)
  test.not(newSecret(), secret)
  const uri = new URL(otpauthUri(secret, 'jane doe@example.org', 'Fulcrum'))
  test.equal(uri.protocol, 'otpauth:')
  test.equal(decodeURIComponent(uri.pathname), '/Fulcrum:jane doe@example.org')
  test.equal(uri.searchParams.get('secret'), secret)
  test.ok(looksLikeCode('012345'))
  for (const other of ['12345', '1234567', '12345a', '123 456']) test.notOk(looksLikeCode(other), other)
})
