import t from 'tap'
import { uploadBytes, UploadParts } from '../../../workers/compute/certificate-parts.ts'
import { certificateMaker } from '../../certificate-maker.ts'

t.test('parts are told apart, and each problem names its field', async (test) => {
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
