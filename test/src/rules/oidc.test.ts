import t from 'tap'
import { mergedOidc, missingForOidc, NO_OIDC, oidcProblems } from '../../../src/rules/oidc.ts'

/** Every rule is tested through the API as well: test/src/resources/sign-in/oidc.test.ts. */
const STORED = {
  ...NO_OIDC,
  enabled: true,
  issuer: 'https://idp.test',
  clientId: 'us',
  clientSecret: 'ours',
  baseUrl: 'https://lb.test',
}

t.test('all problems are reported at once', (test) => {
  const wrong = { issuer: 'x', baseUrl: 'x', scopes: [], caCertificate: 'x' }
  test.same(
    oidcProblems(wrong).map(({ field }) => field),
    ['issuer', 'baseUrl', 'scopes', 'caCertificate'],
  )
  test.same(oidcProblems({}), [])
  test.same(oidcProblems(STORED), [])
  test.match(missingForOidc({ ...NO_OIDC, enforced: true }), [{ field: 'enforced' }, { field: 'breakGlassUserId' }])
  test.end()
})

t.test('a secret is only sent to its issuer', (test) => {
  const secretOf = (sent: Parameters<typeof mergedOidc>[0]) => {
    const { settings, problems } = mergedOidc(sent, STORED)
    return problems.length === 0 ? settings.clientSecret : problems.map(({ field }) => field).join()
  }
  test.equal(secretOf({}), 'ours')
  test.equal(secretOf({ clientSecret: '**' }), 'ours')
  test.equal(secretOf({ clientSecret: null }), '')
  test.equal(secretOf({ clientSecret: '' }), '')
  test.equal(secretOf({ issuer: 'https://other.test' }), 'clientSecret')
  test.equal(secretOf({ issuer: 'https://other.test', clientSecret: 'theirs' }), 'theirs')
  test.end()
})
