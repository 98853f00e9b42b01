import { execFileSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { Authority, newNamedKey, newNodeRequest } from '../../../src/cluster/authority.ts'
import { CertificateError, readNodeCertificate } from '../../../src/cluster/node-certificate.ts'
import { CLUSTER_ID, meet, mutual, newAuthority, newNode } from '../../fixtures/cluster-authority.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const YEAR_MS = 365 * 86_400_000
const NOW_MS = Date.now()
const OPENSSL_MISSING = (() => {
  try {
    execFileSync('openssl', ['version'])
    return false
  } catch {
    return 'needs openssl'
  }
})()

/** Returns the output of openssl, or its error. */
function openssl(...argv: string[]): string {
  try {
    return execFileSync('openssl', argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    return `FAILED ${String((error as { stdout?: string }).stdout)}${String((error as { stderr?: string }).stderr)}`
  }
}

function written(test: Test, files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder(test, 'authority')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return (name: string) => join(folder, name)
}

t.test('an authority is a self-issued certificate for twenty years, and is stored and read again', async (test) => {
  const authority = await newAuthority('peer')
  const certificate = new X509Certificate(authority.certificate)
  test.ok(certificate.ca)
  test.ok(certificate.verify(certificate.publicKey))
  test.equal(certificate.subject, `O=${CLUSTER_ID}\nCN=Fulcrum peer authority`)
  test.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1')
  test.ok(Math.abs(Date.parse(certificate.validTo) - NOW_MS - 20 * YEAR_MS) < 3_600_000)
  const stored = authority.stored()
  const again = await Authority.from(stored)
  test.same(again.stored(), stored)
  test.equal(again.pin, authority.pin)
  const { cert } = await newNode(again)
  test.ok(new X509Certificate(cert).verify(certificate.publicKey))
})

t.test('the stored data has to be the certificate and the key of one authority', async (test) => {
  const [peer, client] = [(await newAuthority('peer')).stored(), (await newAuthority('client')).stored()]
  const { key, cert } = await newNode(await Authority.from(peer))
  const refused = [
    { ...peer, key: client.key },
    { ...peer, key: '' },
    { ...peer, certificate: '' },
    { ...peer, certificate: cert, key },
    { ...peer, role: 'client' as const },
    { ...peer, clusterId: 'another' },
  ]
  for (const each of refused) await test.rejects(Authority.from(each), CertificateError)
  await test.rejects(Authority.create('peer', 'a/b', NOW_MS), CertificateError)
})

t.test('the certificate of a node has the fields that the cluster decides', async (test) => {
  const authority = await newAuthority()
  const { key, request } = await newNodeRequest()
  const addresses = ['192.0.2.7', '2001:DB8:0::7', 'lb1.example.net']
  const pem = await authority.issue(request, { nodeId: 'node-7', addresses }, NOW_MS)
  const certificate = new X509Certificate(pem)
  test.ok(certificate.checkPrivateKey(createPrivateKey(key)))
  test.ok(certificate.checkIssued(new X509Certificate(authority.certificate)))
  test.notOk(certificate.ca)
  test.equal(certificate.subject, `O=${CLUSTER_ID}\nOU=node-7`, 'no CN')
  test.equal(
    certificate.subjectAltName,
    'URI:urn:fulcrum:node:node-7, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7, DNS:lb1.example.net',
  )
  test.equal(certificate.checkIP('2001:db8::7'), '2001:db8::7')
  test.equal(certificate.checkHost('lb1.example.net'), 'lb1.example.net')
  test.same(certificate.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])
  test.match(readNodeCertificate(pem), { nodeId: 'node-7', notAfter_ms: Math.floor((NOW_MS + YEAR_MS) / 1000) * 1000 })
  const begins_ms = Date.parse(new X509Certificate(authority.certificate).validFrom)
  const later = await authority.issue(request, { nodeId: 'node-7', addresses }, NOW_MS + YEAR_MS)
  for (const one of [pem, later])
    test.equal(readNodeCertificate(one).notBefore_ms, begins_ms, 'whatever the clock says')
})

t.test('no certificate outlives its authority, and years with four digits are written', async (test) => {
  const authority = await newAuthority('peer', Date.UTC(2035, 0, 1))
  const ends_ms = Date.parse(new X509Certificate(authority.certificate).validTo)
  test.equal(new Date(ends_ms).getUTCFullYear(), 2054)
  const { cert } = await newNode(authority, { now_ms: Date.UTC(2054, 6, 1) })
  test.equal(readNodeCertificate(cert).notAfter_ms, ends_ms)
})

t.test('serials are random, and are read as given', async (test) => {
  const authority = await newAuthority()
  const { request } = await newNodeRequest()
  const serials = new Set<string>()
  for (let at = 0; at < 64; at += 1) {
    const pem = await authority.issue(request, { nodeId: 'n', addresses: [] }, NOW_MS)
    serials.add(readNodeCertificate(pem).serial)
  }
  test.equal(serials.size, 64)
  test.ok([...serials].every((serial) => serial.length > 24 && serial.length <= 34))
})

t.test('a certificate that is trusted directly counts only where it is listed', async (test) => {
  const [one, other] = [await newNamedKey(CLUSTER_ID, 'node-1', NOW_MS), await newNamedKey(CLUSTER_ID, 'n', NOW_MS)]
  const certificate = new X509Certificate(one.certificate)
  test.ok(certificate.checkPrivateKey(createPrivateKey(one.key)))
  test.notOk(certificate.ca)
  test.equal(certificate.subject, `O=${CLUSTER_ID}\nOU=node-1`)
  test.equal(new Date(certificate.validTo).toISOString(), '9999-12-31T23:59:59.000Z')
  // The address does not matter here.
  const shown = ({ key, certificate: cert }: typeof one, ca: string) => ({
    key,
    cert,
    ca,
    checkServerIdentity: () => undefined,
  })
  const both = one.certificate + other.certificate
  const meeting = (ca: string) => meet(shown(one, ca), shown(other, both))
  test.same(await meeting(both), { server: undefined, client: undefined })
  test.match(await meeting(one.certificate), { server: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  await test.rejects(newNamedKey('a/b', 'n', NOW_MS), CertificateError)
  await test.rejects(newNamedKey('c', '', NOW_MS), CertificateError)
})

t.test('requests, ids and addresses that are refused', async (test) => {
  const authority = await newAuthority()
  const { request } = await newNodeRequest()
  const other = await newNodeRequest()
  const named = { nodeId: 'n', addresses: [] }
  const der = (pem: string) => Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ''), 'base64')
  const pemOf = (bytes: Uint8Array) =>
    `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(bytes).toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
  const changed = der(request)
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
  // The key of one, the signature of another.
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'der' })
  const stolen = der(other.request)
  const point = stolen.indexOf(Buffer.from('03420004', 'hex'))
  key.copy(stolen, point + 3, key.length - 65)
  const refused = ['', 'x', `${request}${' '.repeat(5000)}`, authority.certificate, pemOf(changed), pemOf(stolen)]
  for (const each of refused) await test.rejects(authority.issue(each, named, NOW_MS), CertificateError)
  for (const nodeId of ['', 'a b', 'a/b', 'a,b', 'x'.repeat(65)]) {
    await test.rejects(authority.issue(request, { nodeId, addresses: [] }, NOW_MS), CertificateError)
  }
  for (const address of ['', '1.2.3', 'fe80::1%eth0', '*.example.net', 'a b', '10.0.0.0/8', 'urn:x']) {
    await test.rejects(authority.issue(request, { nodeId: 'n', addresses: [address] }, NOW_MS), CertificateError)
  }
  const many = Array.from({ length: 33 }, (_, at) => `10.0.0.${at}`)
  await test.rejects(authority.issue(request, { nodeId: 'n', addresses: many }, NOW_MS), CertificateError)
  for (const number of [-1, 0.5, 2 ** 53]) {
    await test.rejects(authority.revocationList([], number), CertificateError)
  }
})

t.test(
  'requests made with openssl are accepted, except keys of other kinds',
  { skip: OPENSSL_MISSING },
  async (test) => {
    const authority = await newAuthority()
    const path = written(test, {})
    const requestWith = (...algorithm: string[]) =>
      openssl('req', '-new', '-newkey', ...algorithm, '-nodes', '-keyout', path('k'), '-subj', '/CN=root', '-batch')
    const named = { nodeId: 'n', addresses: [] }
    const request = requestWith(
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-addext',
      'subjectAltName=DNS:evil.example',
    )
    const certificate = new X509Certificate(await authority.issue(request, named, NOW_MS))
    test.equal(certificate.subjectAltName, 'URI:urn:fulcrum:node:n', 'names in a request do not count')
    test.notMatch(certificate.subject, 'root')
    const { request: own } = await newNodeRequest()
    const file = written(test, { own })
    test.match(openssl('req', '-verify', '-noout', '-in', file('own')), /^(?!FAILED)/)
    for (const kind of [['rsa:2048'], ['ec', '-pkeyopt', 'ec_paramgen_curve:P-384'], ['ed25519']]) {
      const refused = requestWith(...kind)
      test.match(refused, /^-----BEGIN CERTIFICATE REQUEST/)
      await test.rejects(authority.issue(refused, named, NOW_MS), CertificateError, String(kind))
    }
  },
)

t.test('openssl verifies chain, purposes and extensions', { skip: OPENSSL_MISSING }, async (test) => {
  const [client, peer] = [await newAuthority('client'), await newAuthority('peer')]
  const { cert } = await newNode(client, { addresses: ['192.0.2.7', '2001:db8::7'] })
  const path = written(test, { ca: client.certificate, peer: peer.certificate, cert })
  const verify = (...argv: string[]) => openssl('verify', '-x509_strict', ...argv, path('cert'))
  for (const purpose of ['sslserver', 'sslclient']) {
    test.match(verify('-CAfile', path('ca'), '-purpose', purpose), /: OK\n$/, purpose)
  }
  test.match(verify('-CAfile', path('ca'), '-verify_ip', '2001:db8::7'), /: OK\n$/)
  test.match(verify('-CAfile', path('ca'), '-verify_ip', '192.0.2.8'), /FAILED.*IP address mismatch/s)
  test.match(verify('-CAfile', path('ca'), '-purpose', 'smimesign'), /FAILED/)
  test.match(verify('-CAfile', path('peer')), /FAILED.*unable to get local issuer/s, 'the other authority')
  const before = (days: number) => String(Math.floor(Date.now() / 1000) - days * 86_400)
  test.match(verify('-CAfile', path('ca'), '-attime', before(360)), /: OK\n$/, 'a clock that is far behind')
  test.match(verify('-CAfile', path('ca'), '-attime', before(370)), /FAILED.*not yet valid/s)
  const text = openssl('x509', '-in', path('ca'), '-noout', '-text')
  test.match(text, /Basic Constraints: critical\s+CA:TRUE, pathlen:0\n/)
  test.match(text, /Key Usage: critical\s+Certificate Sign, CRL Sign\n/)
  const own = openssl('x509', '-in', path('cert'), '-noout', '-text')
  test.match(own, /Key Usage: critical\s+Digital Signature\n/)
  test.match(own, /URI:urn:fulcrum:node:node-1, IP Address:192\.0\.2\.7/)
})

t.test('an authority issues no authority', { skip: OPENSSL_MISSING }, async (test) => {
  const authority = await newAuthority()
  const node = await newNode(authority)
  const path = written(test, {
    ca: authority.certificate,
    cert: node.cert,
    key: node.key,
  })
  const { request } = await newNodeRequest()
  writeFileSync(path('req'), request)
  openssl('x509', '-req', '-in', path('req'), '-CA', path('cert'), '-CAkey', path('key'), '-out', path('below'))
  const said = openssl('verify', '-CAfile', path('ca'), '-untrusted', path('cert'), path('below'))
  test.match(said, /FAILED.*(invalid CA|path length)/s)
})

t.test('openssl reads revocation lists', { skip: OPENSSL_MISSING }, async (test) => {
  const authority = await newAuthority()
  const [kept, gone] = [await newNode(authority), await newNode(authority, { nodeId: 'node-2' })]
  const empty = await authority.revocationList([], 1)
  const entry = { serial: readNodeCertificate(gone.cert).serial, at_ms: NOW_MS }
  const crl = await authority.revocationList([entry, { ...entry, serial: entry.serial.toLowerCase() }], 200)
  const again = await authority.revocationList([entry], 70_000)
  const path = written(test, { ca: authority.certificate, kept: kept.cert, gone: gone.cert, empty, crl, again })
  const verify = (list: string, cert: string, ...argv: string[]) =>
    openssl(
      'verify',
      '-crl_check_all',
      '-x509_strict',
      ...argv,
      '-CAfile',
      path('ca'),
      '-CRLfile',
      path(list),
      path(cert),
    )
  test.match(verify('empty', 'gone'), /: OK\n$/)
  for (const list of ['crl', 'again']) {
    test.match(verify(list, 'kept'), /: OK\n$/)
    test.match(verify(list, 'gone'), /FAILED.*certificate revoked/s)
  }
  const late = String(Math.floor((NOW_MS + YEAR_MS - 86_400_000) / 1000))
  test.match(verify('crl', 'kept', '-attime', late), /: OK\n$/, 'a list is valid as long as certificates are')
  const text = openssl('crl', '-in', path('crl'), '-noout', '-text', '-CAfile', path('ca'))
  test.match(text, /X509v3 CRL Number: *\n +200\n/)
  test.match(text, /Authority Key Identifier/)
  test.equal(text.match(/Serial Number/g)?.length, 1, 'a repeated serial is listed once')
  test.match(openssl('crl', '-in', path('again'), '-noout', '-crlnumber'), /^crlNumber=0x0*11170\n$/)
  test.match(openssl('crl', '-in', path('again'), '-noout', '-verify', '-CAfile', path('ca')), /^(?!FAILED)/)
})

t.test('nodes connect over mutual TLS 1.3; both sides refuse strangers and removed nodes', async (test) => {
  const [client, peer, foreign] = [
    await newAuthority('client'),
    await newAuthority('peer'),
    await newAuthority('client'),
  ]
  const [one, two] = [await newNode(client), await newNode(client, { nodeId: 'node-2' })]
  const ours = mutual(one, client)
  test.same(await meet(ours, mutual(two, client)), { server: undefined, client: undefined })

  const trusting = (node: Awaited<ReturnType<typeof newNode>>) => ({ ...mutual(node, client) })
  const strangers = {
    'a foreign authority': await newNode(foreign),
    'the other authority of the cluster': await newNode(peer),
  }
  for (const [what, stranger] of Object.entries(strangers)) {
    const asClient = await meet(ours, { ...trusting(stranger), cert: stranger.cert })
    test.match(asClient.server, /UNABLE_TO_|SELF_SIGNED/, `${what}, as client`)
    const asServer = await meet({ ...trusting(stranger), cert: stranger.cert }, ours)
    test.match(asServer.client, /UNABLE_TO_|SELF_SIGNED/, `${what}, as server`)
  }

  const entry = { serial: readNodeCertificate(two.cert).serial, at_ms: NOW_MS }
  const crl = await client.revocationList([entry], 2)
  const checked = mutual(one, client, crl)
  const three = await newNode(client, { nodeId: 'node-3' })
  test.same(await meet(checked, mutual(three, client, crl)), { server: undefined, client: undefined })
  test.equal((await meet(checked, mutual(two, client))).server, 'CERT_REVOKED')
  test.equal((await meet(mutual(two, client), checked)).client, 'CERT_REVOKED')

  const { key, ca } = ours
  test.match((await meet(ours, { ca, key: undefined })).server, /PEER_DID_NOT_RETURN_A_CERTIFICATE/, 'none')
  const elsewhere = await newNode(client, { addresses: ['192.0.2.1'] })
  test.equal((await meet(mutual(elsewhere, client), ours)).client, 'ERR_TLS_CERT_ALTNAME_INVALID', 'another address')
  const past = await newNode(client, { now_ms: NOW_MS - YEAR_MS - 1000 })
  test.equal((await meet(ours, mutual(past, client))).server, 'CERT_HAS_EXPIRED')
  test.match(
    (await meet(ours, { ca, key, cert: ours.cert, maxVersion: 'TLSv1.2', minVersion: 'TLSv1.2' })).server,
    /PROTOCOL/,
  )
})

t.test('a key of an authority is in nothing that is printed', async (test) => {
  const authority = await newAuthority()
  const { key } = authority.stored()
  const body = key.split('\n')[1] ?? ''
  test.ok(body.length > 40)
  for (const text of [JSON.stringify(authority), inspect(authority, { depth: 9, showHidden: true })]) {
    test.notOk(text.includes(body))
    test.notOk(text.includes('PRIVATE'))
  }
})
