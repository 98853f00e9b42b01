import t from 'tap'
import { fieldProblems, missingFor } from '../../../src/rules/saml.ts'

/** Every rule is tested through the API as well: test/src/resources/saml.test.ts. */
t.test('a URL is one to which browsers may be redirected; a base URL is an origin', async (test) => {
  const fields = (next: object) => fieldProblems(next).map(({ field }) => field)
  test.same(fields({ idpSsoUrl: 'https://idp.test/sso?x=1', baseUrl: 'https://lb.test:9443' }), [])
  test.same(fields({ idpSsoUrl: 'javascript:alert(1)' }), ['idpSsoUrl'])
  test.same(fields({ idpSsoUrl: 'https://u:p@idp.test' }), ['idpSsoUrl'])
  test.same(fields({ baseUrl: 'https://lb.test/path' }), ['baseUrl'])
  test.same(fields({ idpCertificates: ['x'] }), ['idpCertificates.0'])
})

t.test('nothing is missing while it is off', async (test) => {
  const off = { enabled: false, enforced: false, idpEntityId: '', idpSsoUrl: '', idpCertificates: [], baseUrl: '' }
  const settings = { ...off, emailAttribute: '', breakGlassUserId: '' }
  test.same(missingFor(settings), [])
  test.equal(missingFor({ ...settings, enabled: true }).length, 4)
  test.equal(missingFor({ ...settings, enabled: true, enforced: true }).length, 5)
})
