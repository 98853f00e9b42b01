import { inspect } from 'node:util'
import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import type { JoinSession } from '../../../src/cluster/join-proof.ts'
import {
  JoinToken,
  JoinTokenError,
  type JoinTokenProblem,
  parseJoinAddress,
  redeem,
  type Redeeming,
  type StoredJoinToken,
  TOKEN_VALID_MAX,
} from '../../../src/cluster/join-token.ts'

const PIN = randomBytes(32).toString('base64url')
const ADDRESSES = ['192.0.2.1:9444', '[2001:db8::1]:9444', 'lb1.example.net:443']
const token = JoinToken.create(PIN, ADDRESSES)
const [, ID = '', SECRET = ''] = token.toText().split('.')
const NOW_MS = Date.UTC(2030, 0, 1)
const KEYS = 'pins of its keys'

/** A session between two nodes, equal at both ends. */
const sessionOf = (tokenId: string, joinerId = 'joiner'): JoinSession => ({
  tokenId,
  joinerId,
  memberId: 'member',
  exported: randomBytes(32),
})

/** The same after storing and reading it. */
const again = (kept: StoredJoinToken) => JSON.parse(JSON.stringify(kept)) as StoredJoinToken

function problemOf(text: string): JoinTokenProblem | undefined {
  try {
    JoinToken.parse(text)
    return undefined
  } catch (error) {
    if (error instanceof JoinTokenError) return error.code
    throw error
  }
}

t.test('a token is a text with its parts, and is read back', async (test) => {
  const text = token.toText()
  test.match(
    text,
    /^fj1\.[0-9a-f-]{36}\.[\w-]{43}\.[\w-]{43}\.192\.0\.2\.1:9444,\[2001:db8::1\]:9444,lb1\.example\.net:443$/,
  )
  const read = JoinToken.parse(` ${text}\n`)
  test.equal(read.toText(), text)
  test.equal(read.id, token.id)
  test.equal(read.pin, PIN)
  test.same(read.addresses, [
    { host: '192.0.2.1', port: 9444 },
    { host: '2001:db8::1', port: 9444 },
    { host: 'lb1.example.net', port: 443 },
  ])
  test.not(JoinToken.create(PIN, ADDRESSES).toText(), text)
})

t.test('each wrong part has its own reason', async (test) => {
  const at = ADDRESSES[0] ?? ''
  const cases: readonly (readonly [text: string, problem: JoinTokenProblem])[] = [
    ['', 'TOKEN_VERSION'],
    ['password', 'TOKEN_VERSION'],
    [`fj2.${ID}.${SECRET}.${PIN}.${at}`, 'TOKEN_VERSION'],
    [`FJ1.${ID}.${SECRET}.${PIN}.${at}`, 'TOKEN_VERSION'],
    ['fj1', 'TOKEN_SHAPE'],
    [`fj1.${ID}.${SECRET}`, 'TOKEN_SHAPE'],
    [`fj1.${ID}.${SECRET}.${PIN}`, 'TOKEN_SHAPE'],
    [`fj1.${ID}.${SECRET}.${PIN}.${at}${' '.repeat(1000)}x`, 'TOKEN_LENGTH'],
    [`fj1..${SECRET}.${PIN}.${at}`, 'TOKEN_ID'],
    [`fj1.${ID.toUpperCase()}.${SECRET}.${PIN}.${at}`, 'TOKEN_ID'],
    [`fj1.${ID}/.${SECRET}.${PIN}.${at}`, 'TOKEN_ID'],
    [`fj1.${ID}..${PIN}.${at}`, 'SECRET_LENGTH'],
    [`fj1.${ID}.${SECRET.slice(1)}.${PIN}.${at}`, 'SECRET_LENGTH'],
    [`fj1.${ID}.${SECRET}A.${PIN}.${at}`, 'SECRET_LENGTH'],
    [`fj1.${ID}.${SECRET.slice(1)}=.${PIN}.${at}`, 'SECRET_ENCODING'],
    [`fj1.${ID}.+${SECRET.slice(1)}.${PIN}.${at}`, 'SECRET_ENCODING'],
    [`fj1.${ID}.${SECRET.slice(1)} .${PIN}.${at}`, 'SECRET_ENCODING'],
    // Decodes to 32 bytes, but in a non-canonical form.
    [`fj1.${ID}.${'A'.repeat(42)}B.${PIN}.${at}`, 'SECRET_ENCODING'],
    [`fj1.${ID}.${SECRET}.${PIN.slice(2)}.${at}`, 'PIN_LENGTH'],
    [`fj1.${ID}.${SECRET}.${PIN.slice(1)}/.${at}`, 'PIN_ENCODING'],
    [`fj1.${ID}.${SECRET}.${PIN}.`, 'ADDRESSES_COUNT'],
    [`fj1.${ID}.${SECRET}.${PIN}.${Array(9).fill(at).join(',')}`, 'ADDRESSES_COUNT'],
  ]
  for (const [text, problem] of cases) test.equal(problemOf(text), problem, text.replace(SECRET, 'SECRET'))
  test.equal(problemOf(`fj1.${ID}.${SECRET}.${PIN}.${Array(8).fill(at).join(',')}`), undefined)
})

t.test('addresses are HOST:PORT, with brackets around IPv6', async (test) => {
  const refused = [
    'x',
    ':1',
    'x:',
    'x:0',
    'x:65536',
    'x:09',
    'x:1:2',
    '::1:9',
    '[::1]',
    '[::1]:0',
    '[10.0.0.1]:9',
    '[]:9',
  ]
  refused.push(
    '1.2.3:9',
    '10.0.0.256:9',
    '[fe80::1%eth0]:9',
    'a b:9',
    '-x:9',
    'http://x:9',
    '10.0.0.1:9,',
    ',10.0.0.1:9',
  )
  for (const address of refused) test.equal(problemOf(`fj1.${ID}.${SECRET}.${PIN}.${address}`), 'ADDRESS', address)
  test.same(parseJoinAddress('[2001:db8::1]:9444'), { host: '2001:db8::1', port: 9444 })
  test.equal(parseJoinAddress('2001:db8::1:9444'), undefined)
  test.throws(() => JoinToken.create(PIN, ['x']), { code: 'ADDRESS', message: /^Address 1 / })
  test.throws(() => JoinToken.create(PIN, []), { code: 'ADDRESSES_COUNT' })
  test.throws(() => JoinToken.create('pin', ADDRESSES), { code: 'PIN_LENGTH' })
})

t.test('any text is a token or refused with a reason that reveals nothing of it', async () => {
  const mutated = fc
    .tuple(fc.nat(token.toText().length - 1), fc.string({ maxLength: 3 }), fc.nat(3))
    .map(([at, put, cut]) => `${token.toText().slice(0, at)}${put}${token.toText().slice(at + cut)}`)
  fc.assert(
    fc.property(fc.oneof(mutated, fc.string({ maxLength: 200 })), (text) => {
      try {
        return JoinToken.parse(text).toText() === text.trim()
      } catch (error) {
        if (!(error instanceof JoinTokenError)) throw error
        const said = inspect(error, { showHidden: true })
        return !said.includes(SECRET.slice(0, 12)) && !said.includes(SECRET.slice(-12)) && error.message.length < 120
      }
    }),
    { numRuns: 2000 },
  )
})

t.test('a token is used once, while it is valid, with its secret', async (test) => {
  const kept = token.stored('witness', 3_600_000, NOW_MS)
  test.match(kept, { id: token.id, role: 'witness', expiresAt_ms: NOW_MS + 3_600_000, usedBy: undefined })
  const session = sessionOf(token.id)
  const proof = JoinToken.parse(token.toText()).prove(session)
  const shown = { session, proof, keys: KEYS }
  const redeemed = redeem(kept, shown, NOW_MS + 3_599_999)
  test.same(redeemed, { used: { ...kept, usedBy: 'joiner', usedWith: KEYS } })
  const used = again('used' in redeemed ? redeemed.used : kept)
  const another = sessionOf(token.id, 'another')
  test.match(redeem(used, { session: another, proof: token.prove(another), keys: KEYS }, NOW_MS), {
    refusal: 'TOKEN_USED',
    message: /^The node joiner has already used this token/,
  })
  test.match(redeem(kept, shown, NOW_MS + 3_600_000), { refusal: 'TOKEN_EXPIRED' })

  const other = JoinToken.create(PIN, ADDRESSES)
  const refused = (redeeming: Redeeming, stored = kept, now_ms = NOW_MS) => {
    test.match(redeem(stored, redeeming, now_ms), { refusal: 'WRONG_PROOF' })
  }
  test.comment('another secret, without further explanation; another session; another node; another token')
  refused({ ...shown, proof: other.prove(session) })
  refused({ ...shown, proof: other.prove(session) }, used, NOW_MS + TOKEN_VALID_MAX)
  refused({ ...shown, session: sessionOf(token.id) })
  refused({ ...shown, session: { ...session, joinerId: 'x' } })
  const elsewhere = { ...session, tokenId: other.id }
  refused({ ...shown, session: elsewhere, proof: token.prove(elsewhere) })
})

t.test('the node that has used a token may come again while it is valid, with the same keys', async (test) => {
  const kept = token.stored('node', 3_600_000, NOW_MS)
  const redeemed = (stored: StoredJoinToken, keys: string, now_ms = NOW_MS) => {
    const session = sessionOf(token.id)
    return redeem(stored, { session, proof: token.prove(session), keys }, now_ms)
  }
  const first = redeemed(kept, KEYS)
  const used = again('used' in first ? first.used : kept)
  test.same(redeemed(used, KEYS), { used })
  test.match(redeemed(used, 'other keys'), { refusal: 'TOKEN_USED' }, 'a client that only knows its id')
  test.match(redeemed(used, KEYS, NOW_MS + 3_600_000), { refusal: 'TOKEN_EXPIRED' })
  const { usedWith: _, ...older } = used
  test.match(redeemed(older, KEYS), { refusal: 'TOKEN_USED' }, 'by unknown keys')
})

t.test('a token is valid for a day at most', async (test) => {
  test.equal(token.stored('node', TOKEN_VALID_MAX, 0).expiresAt_ms, 86_400_000)
  for (const time of [0, -1, TOKEN_VALID_MAX + 1, Number.NaN, Infinity]) {
    test.throws(() => token.stored('node', time, NOW_MS), RangeError)
  }
})

t.test('the secret is in nothing that is stored or printed', async (test) => {
  const kept = token.stored('node', 1000, NOW_MS)
  const session = sessionOf(token.id)
  const refusal = redeem(kept, { session, proof: randomBytes(32), keys: KEYS }, NOW_MS)
  const texts = [token, kept, refusal, token.prove(session)].flatMap((each) => [
    JSON.stringify(each),
    inspect(each, { depth: 9, showHidden: true, maxArrayLength: null }),
  ])
  const bytes = Buffer.from(SECRET, 'base64url')
  const forms = [
    SECRET,
    bytes.toString('hex'),
    bytes.toString('base64'),
    [...bytes].join(','),
    bytes.toString('latin1'),
  ]
  for (const text of texts) for (const form of forms) test.notOk(text.includes(form))
})
