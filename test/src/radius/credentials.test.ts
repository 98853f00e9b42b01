import { createHash } from 'node:crypto'
import t from 'tap'
import { chapDigest, credentialProblem, credentialsOf, hiddenPassword } from '../../../src/radius/credentials.ts'
import { authenticatorResponse, ntResponse } from '../../../src/radius/mschap.ts'
import { valuesOf, vendorAttribute, vendorValues } from '../../../src/radius/packet.ts'

const SECRET = 'xyzzy5461'
const AUTHENTICATOR = Buffer.from('0f403f9473978057bd83d5cb98f4227a', 'hex')

/** Decrypts, as a server does. */
function shown(hidden: Buffer): string {
  let before: Uint8Array = AUTHENTICATOR
  let clear: Uint8Array = Buffer.alloc(0)
  for (let at = 0; at < hidden.length; at += 16) {
    const mask = createHash('md5').update(SECRET).update(before).digest()
    before = hidden.subarray(at, at + 16)
    clear = Buffer.concat([clear, before.map((byte, index) => byte ^ (mask[index] ?? 0))])
  }
  return Buffer.from(clear).toString().replace(/\0+$/, '')
}

t.test('RFC 2865, section 7.1: User-Password', async (test) => {
  const hidden = hiddenPassword('arctangent', SECRET, AUTHENTICATOR)
  test.equal(hidden.toString('hex'), '0dbe708d93d413ce3196e43f782a0aee')
})

t.test('User-Password of every length up to 128 bytes, and beyond ASCII', async (test) => {
  for (const password of ['a', 'x'.repeat(15), 'x'.repeat(16), 'x'.repeat(17), 'pässwörd €', 'y'.repeat(128)]) {
    const hidden = hiddenPassword(password, SECRET, AUTHENTICATOR)
    test.equal(hidden.length % 16, 0)
    test.equal(shown(hidden), password)
  }
})

t.test('RFC 2865, section 7.2: CHAP-Password', async (test) => {
  const challenge = Buffer.from('2aee86f08d0d55969ca5978e0d3367a2', 'hex')
  const digest = chapDigest(Buffer.of(0x16), 'arctangent', challenge)
  test.equal(digest.toString('hex'), 'e97557c316185895f293ff6344077275')
})

t.test('CHAP has a new challenge each time', async (test) => {
  const asked = { name: 'nemo', password: 'arctangent', protocol: 'CHAP' } as const
  const made = [1, 2].map(() => credentialsOf(asked, SECRET, AUTHENTICATOR).attributes)
  for (const attributes of made) {
    const [[said = Buffer.alloc(0)], [challenge = Buffer.alloc(0)]] = [
      valuesOf(attributes, 3),
      valuesOf(attributes, 60),
    ]
    test.same(said.subarray(1), chapDigest(said.subarray(0, 1), 'arctangent', challenge))
  }
  test.notSame(made[0], made[1])
})

t.test("MS-CHAP: an acceptance only counts with the server's proof", async (test) => {
  const asked = { name: 'nemo', password: 'arctangent', protocol: 'MSCHAPv2' } as const
  const made = credentialsOf(asked, SECRET, AUTHENTICATOR)
  const { attributes } = made
  const [challenge = Buffer.alloc(0)] = vendorValues(attributes, 311, 11)
  const [sent = Buffer.alloc(0)] = vendorValues(attributes, 311, 25)
  test.equal(sent.length, 50)
  const exchange = { ...asked, challenge, peerChallenge: sent.subarray(2, 18) }
  const response = Buffer.from(sent.subarray(26))
  test.same(response, ntResponse(exchange))
  const success = (proof: string, identifier = sent[0] ?? 0) =>
    made.isProven([vendorAttribute(311, 26, Buffer.concat([Buffer.of(identifier), Buffer.from(proof)]))])
  const proof = authenticatorResponse(exchange, response)
  test.ok(success(proof))
  test.ok(success(`${proof} M=Welcome`))
  test.notOk(success(authenticatorResponse({ ...exchange, password: 'another' }, response)))
  test.notOk(success(proof, (sent[0] ?? 0) ^ 1))
  test.notOk(success(proof.slice(0, -1)))
  test.notOk(made.isProven([]))
})

t.test('names and passwords for which no server is asked', async (test) => {
  test.equal(credentialProblem('nemo', 'arctangent', 'PAP'), undefined)
  test.equal(credentialProblem('nemo', 'x'.repeat(128), 'PAP'), undefined)
  test.match(credentialProblem('nemo', 'x'.repeat(129), 'PAP'), /128 bytes/)
  test.match(credentialProblem('nemo', 'ä'.repeat(65), 'PAP'), /128 bytes/)
  test.equal(credentialProblem('nemo', 'x'.repeat(129), 'CHAP'), undefined)
  test.match(credentialProblem('nemo', 'x'.repeat(257), 'MSCHAPv2'), /256/)
  test.match(credentialProblem('nemo', '', 'PAP'), /empty/)
  test.match(credentialProblem('nemo', 'arctangent\0', 'PAP'), /zero byte/)
  for (const name of ['', 'x'.repeat(254), 'ä'.repeat(127), 'a\nb', 'a\0b', 'a\u007fb']) {
    test.match(credentialProblem(name, 'p', 'PAP'), /name/)
  }
})
