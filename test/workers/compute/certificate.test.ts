import { createPrivateKey, X509Certificate } from 'node:crypto'
import t, { type Test } from 'tap'
import type { CertificateForm, CertificateProblem, CertificateRead } from '../../../src/model/certificates.ts'
import { readCertificate } from '../../../workers/compute/certificate.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

const { pair, pfx, encryptedKey } = certificateMaker(t)
const root = pair({ name: 'Root', isCa: true })
const middle = pair({ name: 'Middle', isCa: true, issuer: root })
const leaf = pair({
  name: 'www.example.test',
  issuer: middle,
  names: 'DNS:www.example.test,DNS:*.example.test,IP:192.0.2.1',
})
const rsaLeaf = pair({ name: 'rsa.example.test', key: 'rsa:2048', issuer: middle })
const alone = pair({ name: 'alone.example.test' })
const other = pair({ name: 'other.example.test' })
const DAY_MS = 86_400_000

const read = (upload: CertificateForm, more: { password?: string; force?: boolean; days?: number } = {}) =>
  readCertificate({
    upload,
    password: more.password ?? '',
    force: more.force ?? false,
    now_ms: Date.now() + (more.days ?? 0) * DAY_MS,
  })
const pem = (...texts: readonly string[]): CertificateForm => ({ form: 'pem', pem: texts.join('') })
const parts = (cert: string, privateKey: string, ...otherCerts: string[]): CertificateForm => ({
  form: 'parts',
  cert,
  privateKey,
  otherCerts,
})
const problemsOf = (answer: CertificateRead): readonly CertificateProblem[] =>
  'problems' in answer ? answer.problems : []
const taken = (answer: CertificateRead) => {
  if ('problems' in answer) throw new Error(JSON.stringify(answer.problems))
  return answer
}
const namesIn = (chain: string) =>
  chain.split(/(?<=-----END CERTIFICATE-----\n)/).map((text) => /CN=(.*)/.exec(new X509Certificate(text).subject)?.[1])
const wrong = (test: Test, answer: CertificateRead, ...problems: object[]) => test.match(problemsOf(answer), problems)

t.test('a PEM bundle in any order becomes a chain, leaf first, and a key without a passphrase', async (test) => {
  const orders = [
    [leaf.cert, leaf.key, middle.cert, root.cert],
    [root.cert, middle.cert, leaf.cert, leaf.key],
    [leaf.key, root.cert, leaf.cert, middle.cert],
  ]
  for (const order of orders) {
    const { certificate, warnings } = taken(read(pem('some words\n', ...order)))
    test.same(namesIn(certificate.chain), ['www.example.test', 'Middle', 'Root'])
    test.ok(createPrivateKey(certificate.privateKey).equals(createPrivateKey(leaf.key)))
    test.match(certificate.privateKey, /^-----BEGIN PRIVATE KEY-----/)
    test.same(warnings, [])
  }
})

t.test("facts are the certificate's own statements", async (test) => {
  const { facts } = taken(read(pem(leaf.cert, leaf.key, middle.cert))).certificate
  test.match(facts, {
    commonName: 'www.example.test',
    organisation: 'Example',
    country: 'DE',
    subjectAlt: ['www.example.test', '*.example.test', '192.0.2.1'],
    keyType: 'ec prime256v1',
    fingerprint: new X509Certificate(leaf.cert).fingerprint256,
  })
  test.equal(Date.parse(facts.validTo) - Date.parse(facts.validFrom), 30 * DAY_MS)
  test.match(taken(read(pem(rsaLeaf.cert, rsaLeaf.key, middle.cert))).certificate.facts, { keyType: 'rsa 2048' })
})

t.test('PFX: RSA and EC, old and new containers, with and without a password', async (test) => {
  for (const one of [leaf, rsaLeaf]) {
    for (const password of ['secret', '', 'pässwörd €']) {
      for (const more of [[], ['-legacy'], ['-keypbe', 'NONE', '-certpbe', 'NONE']]) {
        const whole = { ...one, cert: one.cert + middle.cert }
        const answer = taken(read({ form: 'pfx', pfx: pfx(whole, password, ...more) }, { password }))
        test.equal(namesIn(answer.certificate.chain)[1], 'Middle')
        test.ok(createPrivateKey(answer.certificate.privateKey).equals(createPrivateKey(one.key)))
      }
    }
  }
})

t.test('PFX_PASSWORD: the password of the PFX is wrong', async (test) => {
  for (const more of [[], ['-legacy']]) {
    const answer = read({ form: 'pfx', pfx: pfx(alone, 'secret', ...more) }, { password: 'other' })
    wrong(test, answer, { field: 'password', code: 'PFX_PASSWORD' })
  }
})

t.test('certificate, key and other certificates separately', async (test) => {
  const { certificate } = taken(read(parts(leaf.cert, leaf.key, root.cert, middle.cert)))
  test.same(namesIn(certificate.chain), ['www.example.test', 'Middle', 'Root'])
  test.same(namesIn(taken(read(parts(leaf.cert + middle.cert, leaf.key))).certificate.chain)[1], 'Middle')
  wrong(test, read(parts(leaf.cert, leaf.cert)), { field: 'privateKey', message: /only the key belongs there/ })
  wrong(test, read(parts(leaf.key, leaf.key)), { field: 'cert', message: /belongs in privateKey/ })
})

t.test('KEY_MISMATCH: the key matches no certificate that was sent', async (test) => {
  wrong(test, read(parts(leaf.cert, other.key)), { field: 'privateKey', code: 'KEY_MISMATCH' })
  wrong(test, read(pem(leaf.cert, middle.cert, other.key)), { field: 'pem', code: 'KEY_MISMATCH' })
})

t.test('unrelated certificates are refused with their field', async (test) => {
  wrong(test, read(parts(leaf.cert, leaf.key, middle.cert, other.cert)), {
    field: 'otherCerts.1',
    code: 'INVALID_BODY',
    message: /not part of the chain: CN=other\.example\.test/,
  })
})

t.test('an issuer of the same name whose key did not sign is unrelated', async (test) => {
  const impostor = pair({ name: 'Middle', isCa: true })
  wrong(test, read(parts(leaf.cert, leaf.key, impostor.cert)), { field: 'otherCerts.0' })
})

t.test('an incomplete chain is accepted with a warning; a self-signed certificate lacks none', async (test) => {
  test.match(taken(read(pem(leaf.cert, leaf.key))).warnings, [/chain ends before a root: .*CN=Middle/])
  test.match(taken(read(pem(leaf.cert, leaf.key, middle.cert))).warnings, [/CN=Root/])
  test.same(taken(read(pem(alone.cert, alone.key))).warnings, [])
})

t.test('CERTIFICATE_EXPIRED: expired, or not valid yet, unless forced', async (test) => {
  for (const days of [31, -1]) {
    const answer = read(pem(alone.cert, alone.key), { days })
    wrong(test, answer, {
      field: 'pem',
      code: 'CERTIFICATE_EXPIRED',
      message: days > 0 ? /has expired/ : /not valid yet/,
    })
    test.match(taken(read(pem(alone.cert, alone.key), { days, force: true })).warnings.length, 1)
  }
})

t.test('CERTIFICATE_EXPIRED: an issuer has expired', async (test) => {
  const short = pair({ name: 'Short', isCa: true, issuer: root, days: 2 })
  const mine = pair({ name: 'mine.test', issuer: short })
  wrong(test, read(parts(mine.cert, mine.key, short.cert), { days: 5 }), {
    field: 'otherCerts.0',
    code: 'CERTIFICATE_EXPIRED',
    message: /the issuer CN=Short has expired/,
  })
  test.match(taken(read(parts(mine.cert, mine.key, short.cert), { days: 5, force: true })).warnings, [
    /CN=Short has exp/,
    /before a root/,
  ])
})

t.test(
  'weak keys are refused, force or not: RSA below 2048 bits, curves other than P-256, P-384 and P-521',
  async (test) => {
    for (const [key, message] of [
      ['rsa:1024', /1024 bits; at least 2048/],
      ['ec:secp256k1', /secp256k1/],
    ] as const) {
      const weak = pair({ name: 'weak.test', key })
      wrong(test, read(pem(weak.cert, weak.key), { force: true }), { code: 'INVALID_BODY', message })
    }
    for (const key of ['ec:secp384r1', 'ec:secp521r1', 'ed25519']) {
      const good = pair({ name: 'good.test', key })
      taken(read(pem(good.cert, good.key)))
    }
  },
)

t.test('signatures with SHA-1 are refused, force or not, except roots', async (test) => {
  const old = pair({ name: 'old.test', hash: 'sha1', issuer: middle })
  wrong(test, read(pem(old.cert, old.key), { force: true }), { message: /its certificate is signed with SHA-1/ })
  const oldRoot = pair({ name: 'Old root', isCa: true, hash: 'sha1' })
  const mine = pair({ name: 'mine.test', issuer: oldRoot })
  taken(read(pem(mine.cert, mine.key, oldRoot.cert)))
  const rsaRoot = pair({ name: 'RSA root', isCa: true, key: 'rsa:2048' })
  const md5 = pair({ name: 'md5.test', hash: 'md5', issuer: rsaRoot })
  wrong(test, read(pem(md5.cert, md5.key)), { message: /signed with MD5/ })
})

t.test('an encrypted key is opened with the password', async (test) => {
  for (const key of [encryptedKey(rsaLeaf, 'secret'), encryptedKey(rsaLeaf, 'secret', '-traditional')]) {
    const upload = parts(rsaLeaf.cert, key, middle.cert)
    const { certificate } = taken(read(upload, { password: 'secret' }))
    test.ok(createPrivateKey(certificate.privateKey).equals(createPrivateKey(rsaLeaf.key)))
    wrong(test, read(upload), { field: 'password', message: /is required/ })
    wrong(test, read(upload, { password: 'wrong' }), { field: 'password', message: /does not open/ })
  }
})

t.test('exactly one private key, at least one certificate, nothing else', async (test) => {
  wrong(test, read(pem(leaf.cert)), { message: 'contains no private key' })
  wrong(test, read(pem(leaf.key)), { message: 'contains no certificate' })
  wrong(test, read(pem(leaf.cert, leaf.key, other.key)), {
    message: 'contains 2 private keys; exactly one is required',
  })
  wrong(test, read(pem('nothing')), { message: /no PEM block/ })
  wrong(test, read(pem(leaf.cert, leaf.key, '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n')), {
    message: /contains a PUBLIC KEY/,
  })
})

t.test('a second certificate of the same key is unrelated, whichever comes first', async (test) => {
  const renewed = pair({ name: 'alone.example.test', own: alone, days: 90 })
  for (const texts of [
    [alone.cert, renewed.cert],
    [renewed.cert, alone.cert],
  ]) {
    wrong(test, read(pem(...texts, alone.key)), { message: /not part of the chain/ })
  }
})

t.test('PAYLOAD_TOO_LARGE: more than 256 KiB in all', async (test) => {
  wrong(test, read(pem('x'.repeat(262_145))), { field: 'pem', code: 'PAYLOAD_TOO_LARGE' })
  wrong(test, read(parts(leaf.cert, leaf.key, 'x'.repeat(262_144))), { code: 'PAYLOAD_TOO_LARGE' })
  wrong(test, read({ form: 'pfx', pfx: 'A'.repeat(400_000) }), { field: 'pfx', code: 'PAYLOAD_TOO_LARGE' })
})
