import t from 'tap'
import { donePage, sentAway } from '../../../../src/resources/sign-in/sso-page.ts'

/** What browsers see of a login is tried in saml.test.ts and oidc.test.ts beside this. */
t.test('the page names the endpoint that takes the code, and loads nothing', (test) => {
  const page = JSON.stringify(donePage('the-code', '/oidc/token'))
  test.match(page, /the-code/)
  test.match(page, /POST \/api\/v1\/oidc\/token/)
  test.notMatch(page, /<script|src=|href=/)
  const away = JSON.stringify(sentAway({ location: 'https://idp.test/auth', cookie: 'a=b' }))
  test.match(away, /"Location":"https:\/\/idp.test\/auth"/)
  test.match(away, /no-store/)
  test.end()
})
