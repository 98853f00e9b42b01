import { rootCertificates } from 'node:tls'
import t from 'tap'
import { uploadBytes, UploadParts } from '../../../workers/compute/certificate-parts.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

t.test('parts are distinguished, and each problem names its field', async (test) => {
  const { pair } = certificateMaker(test)
  const one = pair({ name: 'one.test' })
  const whole = new UploadParts({ form: 'pem', pem: one.cert + one.cert + one.key }, '')
  test.match([whole.certificates.length, whole.keys.length, whole.problems], [1, 1, []], 'one sent twice is one')
  const parts = new UploadParts({ form: 'parts', cert: one.key, privateKey: 'none', otherCerts: [one.cert, 'x'] }, '')
  test.same(
    parts.problems.map(({ field }) => field),
    ['cert', 'privateKey', 'otherCerts.1'],
  )
  const damaged = one.cert.replace(/[A-Z]{3}/, 'AAA')
  test.match(new UploadParts({ form: 'pem', pem: damaged }, '').problems, [{ field: 'pem' }])
  test.match(new UploadParts({ form: 'pfx', pfx: '***' }, '').problems, [{ field: 'pfx', message: 'must be base64' }])
})

t.test('the size of an upload is that of all its parts, a PFX without base64', async (test) => {
  test.equal(uploadBytes({ form: 'pem', pem: 'äb' }), 3)
  test.equal(uploadBytes({ form: 'pfx', pfx: 'AAAA' }), 3)
  test.equal(uploadBytes({ form: 'parts', cert: 'a', privateKey: 'bc', otherCerts: ['d', 'e'] }), 5)
})

t.test('certificates are counted over all fields', async (test) => {
  const { pair } = certificateMaker(test)
  const { cert, key } = pair({ name: 'one.test' })
  const others = rootCertificates.slice(0, 45)
  const { problems, certificates } = new UploadParts({ form: 'parts', cert, privateKey: key, otherCerts: others }, '')
  test.match(problems, [{ field: 'otherCerts.39', message: /more than 40 certificates/ }])
  test.equal(problems.length, 1)
  test.equal(certificates.length, 40)
})
