import t from 'tap'
import { verifySignIn } from '../../../src/rules/sign-in.ts'
import { EVERYTHING } from '../../fixtures/backup.ts'
import { viewOf } from '../../fixtures/view.ts'

const SAML = {
  id: 'cluster',
  enabled: true,
  enforced: false,
  idpEntityId: 'idp',
  idpSsoUrl: 'javascript:alert(1)',
  idpCertificates: ['garbage'],
  baseUrl: 'nonsense"<x>',
  emailAttribute: '',
  breakGlassUserId: '',
}

t.test('values that the endpoints refuse are refused in a backup as well', async (test) => {
  test.same(verifySignIn(viewOf(EVERYTHING)), [])
  test.same(
    verifySignIn(viewOf({ samlConfigs: [SAML] })).map(({ section, field }) => `${section} ${field}`),
    ['samlConfigs idpSsoUrl', 'samlConfigs baseUrl', 'samlConfigs idpCertificates.0'],
  )
  const [radius] = EVERYTHING.radiusConfigs
  if (radius === undefined) throw new Error('the fixture has no RADIUS')
  const hosts = [{ host: 'a b;c', port: 1812, sharedSecret: '', priority: 1 }]
  test.same(
    verifySignIn(viewOf({ radiusConfigs: [{ ...radius, hosts, groupAttribute: 'Nonsense' }] })).map(
      ({ field }) => field,
    ),
    ['hosts.0.host', 'groupAttribute'],
  )
})
