import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { newNodeRequest } from '../../../src/cluster/authority.ts'
import {
  CertificateError,
  isDue,
  pinnedAuthority,
  pinOf,
  readNodeCertificate,
} from '../../../src/cluster/node-certificate.ts'
import { connected, newAuthority, newNode } from '../../fixtures/cluster-authority.ts'

const DAY_MS = 86_400_000

/** Returns the certificate of a server to a client that does not trust anything yet. */
async function shownBy(test: Parameters<typeof connected>[0], cert: string, key: string): Promise<X509Certificate> {
  const { client } = await connected(test, { cert, key })
  const shown = client.getPeerX509Certificate()
  if (shown === undefined) throw new Error('a server shows a certificate')
  return shown
}

t.test('a certificate has its node, serial, times and pin, in PEM and DER', async (test) => {
  const authority = await newAuthority()
  const { cert } = await newNode(authority, { nodeId: 'node-7' })
  const read = readNodeCertificate(cert)
  test.equal(read.nodeId, 'node-7')
  test.match(read.serial, /^[0-9A-F]+$/)
  test.match(read.pin, /^[\w-]{43}$/)
  test.equal(read.notBefore_ms, Date.parse(new X509Certificate(authority.certificate).validFrom))
  const parsed = new X509Certificate(cert)
  test.same(readNodeCertificate(parsed.raw), read)
  test.same(readNodeCertificate(parsed), read)
})

t.test('the pin matches openssl, and stays when a certificate is renewed with its key', async (test) => {
  const authority = await newAuthority()
  const { request } = await newNodeRequest()
  const issued = async () => await authority.issue(request, { nodeId: 'n', addresses: [] }, Date.now())
  const [one, other] = [await issued(), await issued()]
  test.not(one, other)
  test.equal(pinOf(one), pinOf(other))
  test.not(pinOf(one), authority.pin)
  try {
    const spki = execFileSync('openssl', ['x509', '-noout', '-pubkey'], { input: one, stdio: ['pipe', 'pipe', 'pipe'] })
    const der = execFileSync('openssl', ['pkey', '-pubin', '-outform', 'der'], { input: spki })
    const hash = execFileSync('openssl', ['dgst', '-sha256', '-binary'], { input: der })
    test.equal(hash.toString('base64url'), pinOf(one))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    test.comment('no openssl')
  }
})

t.test('a certificate is due from thirty days before its expiry', async (test) => {
  const notAfter_ms = Date.UTC(2030, 0, 31)
  test.notOk(isDue({ notAfter_ms }, Date.UTC(2029, 11, 31, 23, 59, 59)))
  test.ok(isDue({ notAfter_ms }, Date.UTC(2030, 0, 1)))
  test.ok(isDue({ notAfter_ms }, Date.UTC(2031, 0, 1)))
})

t.test('anything but a certificate of a node is refused', async (test) => {
  const { certificate } = await newAuthority()
  for (const text of ['', 'x', Buffer.alloc(10), certificate]) {
    test.throws(() => readNodeCertificate(text), CertificateError)
  }
  test.throws(
    () => pinOf('-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----'),
    /^This is not a certificate in PEM or DER$/,
  )
})

t.test('names that only look like one node are refused', async (test) => {
  const names = [
    ['URI:urn:fulcrum:node:a', true],
    ['URI:urn:fulcrum:node:a, DNS:b', true],
    ['DNS:a, URI:http://x/', false],
    ['URI:urn:fulcrum:node:a, URI:urn:fulcrum:node:b', false],
    ['URI:urn:fulcrum:node:', false],
    ['URI:urn:fulcrum:node:a/b', false],
    [`URI:urn:fulcrum:node:${'a'.repeat(65)}`, false],
    ['DNS:urn:fulcrum:node:a', false],
    ['DNS:"x, URI:urn:fulcrum:node:a, y"', false],
  ] as const
  const { cert } = await newNode(await newAuthority())
  for (const [subjectAltName, isOne] of names) {
    const certificate = Object.defineProperty(new X509Certificate(cert), 'subjectAltName', { value: subjectAltName })
    const read = () => readNodeCertificate(certificate)
    if (isOne) test.equal(read().nodeId, 'a')
    else test.throws(read, CertificateError, subjectAltName)
  }
})

t.test('a node that only knows the pin finds the authority among the presented certificates', async (test) => {
  const [authority, other] = [await newAuthority(), await newAuthority()]
  const node = await newNode(authority)
  const now_ms = Date.now()
  const shown = await shownBy(test, `${node.cert}${authority.certificate}`, node.key)
  test.equal(pinnedAuthority(shown, authority.pin, now_ms)?.toString(), authority.certificate)
  test.equal(pinnedAuthority(shown, other.pin, now_ms), undefined, 'another pin')
  test.equal(pinnedAuthority(shown, pinOf(node.cert), now_ms), undefined, 'that of the node itself')
  test.equal(pinnedAuthority(shown, authority.pin, now_ms + 366 * DAY_MS), undefined, 'too late')
  test.equal(pinnedAuthority(shown, authority.pin, now_ms - 366 * DAY_MS), undefined, 'too early')
  const alone = await shownBy(test, node.cert, node.key)
  test.equal(pinnedAuthority(alone, authority.pin, now_ms), undefined, 'the authority was not presented')
})

t.test("presenting the right authority beside another's certificate does not help", async (test) => {
  const [authority, attacker] = [await newAuthority(), await newAuthority()]
  // Both authorities have the same name, as an attacker would choose it.
  const stranger = await newNode(attacker)
  const shown = await shownBy(test, `${stranger.cert}${authority.certificate}`, stranger.key)
  test.equal(pinnedAuthority(shown, authority.pin, Date.now()), undefined)
  const forged = await forgedUnder(authority.certificate)
  const shownForged = await shownBy(test, `${forged.cert}${authority.certificate}`, forged.key)
  const claimed = new X509Certificate(authority.certificate)
  test.ok(shownForged.checkIssued(claimed), 'it names the authority in every way')
  test.equal(shownForged.issuerCertificate?.toString(), claimed.toString())
  test.equal(pinnedAuthority(shownForged, authority.pin, Date.now()), undefined)
})

/** A certificate with the name and the key identifier of an authority, signed by its own key. */
async function forgedUnder(certificate: string) {
  await import('reflect-metadata')
  const x509 = await import('@peculiar/x509')
  const claimed = new x509.X509Certificate(certificate)
  const signingAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await crypto.subtle.generateKey(signingAlgorithm, true, ['sign', 'verify'])
  const forged = await x509.X509CertificateGenerator.create({
    subject: 'CN=forged',
    issuer: claimed.subjectName,
    notBefore: new Date(Date.now() - DAY_MS / 2),
    publicKey: keys.publicKey,
    signingKey: keys.privateKey,
    signingAlgorithm,
    extensions: [await x509.AuthorityKeyIdentifierExtension.create(claimed.publicKey)],
  })
  const key = x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')
  return { cert: `${forged.toString('pem')}\n`, key }
}
