import { generateKeyPairSync } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSigner } from 'fast-jwt'
import t from 'tap'
import { Tokens } from '../../../src/auth/token.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const LATER_S = Math.floor(Date.now() / 1000) + 3600
const claims = { sub: 'user-1', sid: 'session-1', exp: LATER_S }

t.test('the key is created once, readable by its owner only, and leaves no draft behind', async (test) => {
  const file = join(temporaryFolder(test, 'tokens'), 'key.pem')
  const token = new Tokens(file).sign(claims, 'a')
  test.equal(statSync(file).mode & 0o777, 0o600)
  test.notOk(existsSync(`${file}.new`))
  const key = readFileSync(file, 'utf8')
  test.match(new Tokens(file).verify(token), claims, 'known after a restart')
  test.equal(readFileSync(file, 'utf8'), key)
})

t.test('a draft of a key that a crash left behind does not matter', async (test) => {
  const file = join(temporaryFolder(test, 'tokens'), 'key.pem')
  writeFileSync(`${file}.new`, 'half a ke')
  const tokens = new Tokens(file)
  test.match(tokens.verify(tokens.sign(claims, 'a')), claims)
  test.match(new Tokens(file).verify(tokens.sign(claims, 'b')), claims)
})

t.test('a token carries no rights, names its key, and no two are alike', async (test) => {
  const tokens = new Tokens(join(temporaryFolder(test, 'tokens'), 'key.pem'))
  const token = tokens.sign(claims, 'one')
  const [header, payload] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString())
  test.match(JSON.parse(header ?? ''), { alg: 'EdDSA', kid: /^[\w-]{16}$/ })
  test.same(Object.keys(JSON.parse(payload ?? '')).toSorted(), ['exp', 'iat', 'jti', 'sid', 'sub'])
  test.not(tokens.sign(claims, 'two'), token)
})

t.test('an expired token is expired, a token of another daemon invalid', async (test) => {
  const folder = temporaryFolder(test, 'tokens')
  const tokens = new Tokens(join(folder, 'a.pem'))
  test.equal(tokens.verify(tokens.sign({ ...claims, exp: LATER_S - 7200 }, 'a')), 'expired')
  const other = new Tokens(join(folder, 'b.pem'))
  test.equal(tokens.verify(other.sign(claims, 'a')), 'invalid')
  test.equal(tokens.verify(other.sign({ ...claims, exp: LATER_S - 7200 }, 'a')), 'invalid', 'not even as expired')
})

t.test('tokens of trusted nodes are valid, as long as they are trusted', async (test) => {
  const folder = temporaryFolder(test, 'tokens')
  const [ours, theirs, strange] = ['a', 'b', 'c'].map((name) => new Tokens(join(folder, `${name}.pem`)))
  if (ours === undefined || theirs === undefined || strange === undefined) throw new Error('three were made')
  ours.trust([theirs.publicKey])
  test.match(ours.verify(theirs.sign(claims, 'a')), claims)
  test.match(ours.verify(ours.sign(claims, 'b')), claims, 'its own as before')
  test.equal(ours.verify(theirs.sign({ ...claims, exp: LATER_S - 7200 }, 'c')), 'expired')
  test.equal(ours.verify(strange.sign(claims, 'd')), 'invalid')
  test.equal(ours.verify('no token'), 'invalid')
  ours.trust([])
  test.equal(ours.verify(theirs.sign(claims, 'e')), 'invalid')
})

t.test('incomplete claims are invalid, also with a right signature', async (test) => {
  const file = join(temporaryFolder(test, 'tokens'), 'key.pem')
  const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  writeFileSync(file, key)
  const tokens = new Tokens(file)
  const sign = createSigner({ algorithm: 'EdDSA', key })
  test.match(tokens.verify(sign({ ...claims })), claims)
  const { sub, sid, exp } = claims
  for (const partial of [
    { sid, exp },
    { sub, exp },
    { sub, sid },
  ]) {
    test.equal(tokens.verify(sign({ ...partial })), 'invalid', Object.keys(partial).join(' '))
  }
  for (const text of ['', '.', '..', 'a.b.c', 'x'.repeat(10_000)]) test.equal(tokens.verify(text), 'invalid')
})

t.test('a ticket is no token, and a token no ticket', async (test) => {
  const tokens = new Tokens(join(temporaryFolder(test, 'tokens'), 'a.pem'))
  const ticket = tokens.signTicket(claims, 'a')
  test.match(tokens.verifyTicket(ticket), claims)
  test.equal(tokens.verify(ticket), 'invalid')
  test.equal(tokens.verifyTicket(tokens.sign(claims, 'a')), 'invalid')
  test.equal(tokens.verifyTicket(tokens.signTicket({ ...claims, exp: LATER_S - 7200 }, 'a')), 'expired')
})
