import t from 'tap'
import { certificateSummaries } from '../../../src/base/certificate-summary.ts'
import { certificateRecord } from '../../fixtures/certificate.ts'

t.test('each certificate is its subject, its expiry and its SHA-256', async (test) => {
  const { chain, facts } = await certificateRecord(test, 'c')
  const [one, two, ...more] = certificateSummaries(chain + chain)
  test.match(one, { subject: /^(?!.*\n).*CN=/, validTo: facts.validTo, sha256: facts.fingerprint })
  test.same([two, more], [one, []])
})

t.test('an unreadable one is reported as such', async (test) => {
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  test.match(certificateSummaries(broken), [{ subject: /cannot be read/, validTo: '' }])
  test.same(certificateSummaries('no certificate'), [])
})
