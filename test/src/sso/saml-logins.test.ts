import t from 'tap'
import { ACS_PATH, partiesOf } from '../../../src/sso/saml-logins.ts'

/** Logins are tested through the API: test/src/resources/saml.test.ts. */
t.test('both sides are named by where they are reached', async (test) => {
  const idp = { idpEntityId: 'idp', idpSsoUrl: 'https://idp.test/sso', idpCertificates: ['pem'] }
  const flags = { id: 'cluster', enabled: true, enforced: false, breakGlassUserId: '' }
  test.same(partiesOf({ ...flags, ...idp, baseUrl: 'https://lb.test', emailAttribute: 'mail' }), {
    entityId: 'https://lb.test/api/v1/saml/metadata',
    acsUrl: `https://lb.test${ACS_PATH}`,
    ...idp,
    emailAttribute: 'mail',
  })
})
