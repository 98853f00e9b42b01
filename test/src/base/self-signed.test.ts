import { createPrivateKey, X509Certificate } from 'node:crypto'
import t from 'tap'
import { selfSigned } from '../../../src/base/self-signed.ts'

t.test('a certificate for its names, with its key', async (test) => {
  const names = [
    { type: 'dns', value: 'a.test' },
    { type: 'ip', value: '192.0.2.1' },
  ] as const
  const { key, certificate } = await selfSigned('a.test', names, 1)
  const read = new X509Certificate(certificate)
  test.equal(read.subjectAltName, 'DNS:a.test, IP Address:192.0.2.1')
  test.equal(read.subject, 'CN=a.test')
  test.ok(read.checkPrivateKey(createPrivateKey(key)))
  test.ok(read.verify(read.publicKey))
})

t.test('its further extensions are critical', async (test) => {
  const critical = [{ oid: '1.3.6.1.5.5.7.1.31', value: Uint8Array.from([0x04, 0x01, 0x07]) }]
  const { certificate } = await selfSigned('a.test', [{ type: 'dns', value: 'a.test' }], 1, critical)
  const der = new X509Certificate(certificate).raw.toString('hex')
  test.match(der, '06082b0601050507011f0101ff0403040107')
})
