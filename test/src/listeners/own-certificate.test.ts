import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import t from 'tap'
import { apiCertificate, ensureCertificate } from '../../../src/listeners/own-certificate.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a self-signed certificate is generated once and matches its key', async (test) => {
  const folder = temporaryFolder(test, 'tls')
  const files = await ensureCertificate(folder, ['127.0.0.1', '::1'])
  const certificate = new X509Certificate(readFileSync(files.certificateFile))
  const key = await import('node:crypto').then((crypto) => crypto.createPrivateKey(readFileSync(files.keyFile)))
  test.ok(certificate.checkPrivateKey(key))
  test.ok(certificate.verify(certificate.publicKey))
  test.equal(certificate.checkIP('127.0.0.1'), '127.0.0.1')
  test.equal(certificate.checkHost('localhost'), 'localhost')
  test.ok(Date.parse(certificate.validTo) - Date.now() > 9 * 365 * 86_400_000)
  test.equal(statSync(files.keyFile).mode & 0o777, 0o600)
  const before = readFileSync(files.certificateFile, 'utf8')
  await ensureCertificate(folder, ['127.0.0.1'])
  test.equal(readFileSync(files.certificateFile, 'utf8'), before)
  test.match(apiCertificate(folder), [{ notAfter: new Date(certificate.validTo) }])
  test.same(apiCertificate(`${folder}/none`), [])
})
