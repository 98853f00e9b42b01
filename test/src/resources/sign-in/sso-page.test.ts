import t from 'tap'
import { doneLogin, sentAway } from '../../../../src/resources/sign-in/sso-page.ts'

/** saml.test.ts and oidc.test.ts beside this test the login as browsers see it. */
t.test('the page names the endpoint that accepts the code, and loads nothing', (test) => {
  const page = JSON.stringify(doneLogin({ code: 'the-code', isForPage: false }, 'oidc'))
  test.match(page, /the-code/)
  test.match(page, /POST \/api\/v1\/oidc\/token/)
  test.notMatch(page, /<script|src=|href=/)
  const toPage = JSON.stringify(doneLogin({ code: 'the-code', isForPage: true }, 'saml'))
  test.match(toPage, /"Location":"\/#sso=the-code&via=saml"/)
  test.match(toPage, /no-store/)
  test.equal(toPage.split('the-code').length, 2, 'nowhere else')
  const away = JSON.stringify(sentAway({ location: 'https://idp.test/auth', cookie: 'a=b' }))
  test.match(away, /"Location":"https:\/\/idp.test\/auth"/)
  test.match(away, /no-store/)
  test.end()
})
