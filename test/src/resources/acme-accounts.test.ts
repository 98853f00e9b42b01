import t from 'tap'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)
const PATH = '/certificates/acme/accounts'
const BODY = { name: 'ca', directoryUrl: 'https://ca.test/directory', termsAgreed: true }

t.test('an account has its own key, which is never shown', async (test) => {
  const { call } = await borrow()
  const externalAccountBinding = { keyId: 'kid-1', hmacKey: 'c2VjcmV0LWhtYWM' }
  const made = await call('POST', PATH, { body: { ...BODY, contact: ['ops@site.test'], externalAccountBinding } })
  test.equal(made.status, 201)
  const { id } = made.json.data
  const read = await call('GET', `${PATH}/${id}`)
  const { thumbprint, ...rest } = read.json.data
  test.same(rest, { ...BODY, id, contact: ['ops@site.test'], httpPort: 80, tlsPort: 443, isBound: true })
  test.match(thumbprint, /^[A-Za-z0-9_-]{43}$/)
  const list = await call('GET', PATH)
  test.same(list.json.data, [read.json.data])
  const pending = await call('GET', '/services/pending?render=true')
  test.match(pending.json.data.changes, [
    { resource: 'acmeAccounts', after: { privateKey: '**', externalAccountBinding: '**' } },
  ])
  for (const { text } of [made, read, list, pending]) test.notMatch(text, /PRIVATE KEY|c2VjcmV0LWhtYWM/)
  await call('PUT', '/services/apply')
  const later = await Promise.all([
    call('GET', '/revisions'),
    call('GET', '/revisions/1/diff/2'),
    call('GET', '/audit'),
  ])
  for (const { text } of later) test.notMatch(text, /PRIVATE KEY|c2VjcmV0LWhtYWM/)
})

t.test('invalid fields are refused by name, and nothing is stored', async (test) => {
  const { call } = await borrow()
  const leaf = certificateMaker(test).pair({ name: 'leaf.test' }).cert
  const cases: readonly (readonly [object, string])[] = [
    [{ directoryUrl: 'http://ca.test/directory' }, 'directoryUrl'],
    [{ directoryUrl: 'https://169.254.169.254/latest' }, 'directoryUrl'],
    [{ directoryUrl: 'https://[1/dir' }, 'directoryUrl'],
    [{ termsAgreed: false }, 'termsAgreed'],
    [{ contact: ['nobody'] }, 'contact.0'],
    [{ caCertificate: 'nothing' }, 'caCertificate'],
    [{ caCertificate: leaf }, 'caCertificate'],
    [{ httpPort: 0 }, 'httpPort'],
    [{ privateKey: 'mine' }, 'privateKey'],
    [{ externalAccountBinding: { keyId: 'x' } }, 'externalAccountBinding.hmacKey'],
  ]
  for (const [more, field] of cases) {
    const { status, json } = await call('POST', PATH, { body: { ...BODY, ...more } })
    test.match([status, json], [422, { code: 'INVALID_BODY', errors: [{ field }] }], JSON.stringify(more).slice(0, 60))
  }
  test.same((await call('GET', PATH)).json.data, [])
})

t.test('names are unique; an account in use stays', async (test) => {
  const { call } = await borrow()
  const { id } = (await call('POST', PATH, { body: { ...BODY, httpPort: 8080 } })).json.data
  test.match((await call('POST', PATH, { body: BODY })).json, { code: 'NAME_NOT_UNIQUE' })
  await call('POST', '/layer7proxy/frontends', { body: { name: 'f', mode: 'http', ip: '127.0.0.1', ports: '8080' } })
  const order = await call('POST', '/certificates/acme/orders', {
    body: { name: 'site', accountId: id, names: ['www.site.test'] },
  })
  test.equal(order.status, 201, order.text)
  test.match((await call('DELETE', `${PATH}/${id}`)).json, { code: 'IN_USE', data: { usage: [{ name: 'site' }] } })
  await call('DELETE', `/certificates/acme/orders/${order.json.data.id}`)
  test.same((await call('DELETE', `${PATH}/${id}`)).json.data, [])
  test.equal((await call('GET', `${PATH}/${id}`)).status, 404)
})
