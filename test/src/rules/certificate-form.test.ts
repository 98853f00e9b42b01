import t from 'tap'
import { fieldOf, formsOf, otherCertificate } from '../../../src/rules/certificate-form.ts'

t.test('empty strings and empty arrays count as absent', async (test) => {
  test.same(formsOf({ pem: '', pfx: '', cert: '', privateKey: '', otherCerts: [] }), [])
  test.same(formsOf({ otherCerts: ['', ''] }), [])
  test.same(formsOf({ pem: 'p', pfx: '', cert: '', privateKey: '', otherCerts: [] }), [{ form: 'pem', pem: 'p' }])
  test.same(formsOf({ pfx: 'p' }), [{ form: 'pfx', pfx: 'p' }])
  test.same(formsOf({ cert: 'c', privateKey: 'k', otherCerts: ['', 'o'] }), [
    { form: 'parts', cert: 'c', privateKey: 'k', otherCerts: ['o'] },
  ])
})

t.test('several forms are accepted, and every missing field is named', async (test) => {
  const fields = (sent: Parameters<typeof formsOf>[0]) => {
    const forms = formsOf(sent)
    return 'problems' in forms ? forms.problems.map(({ field }) => `${field} is missing`) : forms.map(fieldOf)
  }
  test.same(fields({ pem: 'p', pfx: 'x' }), ['pem', 'pfx'])
  test.same(fields({ pem: 'p', cert: 'c', privateKey: 'k' }), ['pem', 'cert'])
  test.same(fields({ pem: 'p', privateKey: 'k' }), ['cert is missing'])
  test.same(fields({ cert: 'c' }), ['privateKey is missing'])
  test.same(fields({ privateKey: 'k' }), ['cert is missing'])
  test.same(fields({ otherCerts: ['o'] }), ['cert is missing', 'privateKey is missing'])
})

t.test('a form with another certificate is named by its field', async (test) => {
  const parts = { form: 'parts', cert: 'c', privateKey: 'k', otherCerts: [] } as const
  test.match(otherCertificate([parts]), [{ field: 'cert', code: 'INVALID_BODY', message: /another certificate/ }])
})
