import t from 'tap'
import { formOf } from '../../src/certificate-form.ts'

t.test('empty strings and empty arrays count as absent', async (test) => {
  test.equal(formOf({ pem: '', pfx: '', cert: '', privateKey: '', otherCerts: [] }), undefined)
  test.equal(formOf({ otherCerts: ['', ''] }), undefined)
  test.same(formOf({ pem: 'p', pfx: '', cert: '', privateKey: '', otherCerts: [] }), { form: 'pem', pem: 'p' })
  test.same(formOf({ pfx: 'p' }), { form: 'pfx', pfx: 'p' })
  test.same(formOf({ cert: 'c', privateKey: 'k', otherCerts: ['', 'o'] }), {
    form: 'parts',
    cert: 'c',
    privateKey: 'k',
    otherCerts: ['o'],
  })
})

t.test('exactly one form; every field that is too much or missing is named', async (test) => {
  const fields = (sent: Parameters<typeof formOf>[0]) => {
    const form = formOf(sent)
    return form === undefined || 'form' in form ? form : form.map(({ field }) => field)
  }
  test.same(fields({ pem: 'p', pfx: 'x' }), ['pem', 'pfx'])
  test.same(fields({ pem: 'p', privateKey: 'k' }), ['pem', 'privateKey'])
  test.same(fields({ cert: 'c' }), ['privateKey'])
  test.same(fields({ privateKey: 'k' }), ['cert'])
  test.same(fields({ otherCerts: ['o'] }), ['cert', 'privateKey'])
})
