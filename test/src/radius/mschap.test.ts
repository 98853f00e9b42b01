import t from 'tap'
import {
  authenticatorResponse,
  challengeHash,
  challengeResponse,
  ntPasswordHash,
  ntResponse,
} from '../../../src/radius/mschap.ts'

/** RFC 2759, section 9.2. */
const EXCHANGE = {
  name: 'User',
  password: 'clientPass',
  challenge: Buffer.from('5b5d7c7d7b3f2f3e3c2c602132262628', 'hex'),
  peerChallenge: Buffer.from('21402324255e262a28295f2b3a337c7e', 'hex'),
}
const RESPONSE = '82309ecd8d708b5ea08faa3981cd83544233114a3d85d6df'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

t.test('the example of RFC 2759', async (test) => {
  const { peerChallenge, challenge, name, password } = EXCHANGE
  test.equal(hex(challengeHash(peerChallenge, challenge, name)), 'd02e4386bce91226')
  test.equal(hex(ntPasswordHash(password)), '44ebba8d5312b8d611474411f56989ae')
  test.equal(hex(ntResponse(EXCHANGE)), RESPONSE)
  const said = authenticatorResponse(EXCHANGE, Buffer.from(RESPONSE, 'hex'))
  test.equal(said, 'S=407A5589115FD0D6209F510FE9C04566932CDA56')
})

t.test('the DES operation of RFC 2759, section 8.5 to 8.6, on an empty hash', async (test) => {
  const weak = challengeResponse(Buffer.alloc(8), Buffer.alloc(16))
  test.equal(hex(weak), '8ca64de9c1b123a7'.repeat(3), 'DES of zeros with a key of zeros')
})

t.test('a domain before the name is ignored', async (test) => {
  test.equal(hex(ntResponse({ ...EXCHANGE, name: String.raw`CORP\User` })), RESPONSE)
  test.not(hex(ntResponse({ ...EXCHANGE, name: 'user' })), RESPONSE)
})

t.test('passwords beyond ASCII are UTF-16', async (test) => {
  test.equal(hex(ntPasswordHash('pässwörd€')).length, 32)
  test.not(hex(ntPasswordHash('ä')), hex(ntPasswordHash('a')))
})
