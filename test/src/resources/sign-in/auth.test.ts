import t from 'tap'
import { VERSION } from '../../../../src/base/version.ts'
import { ADMIN } from '../../../fixtures/appliance.ts'
import { sharedAppliance } from '../../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

t.test('a login returns the user, the node, and the features of the installation', async (test) => {
  const { anonymous, node } = await borrow()
  const { json, text } = await anonymous('POST', '/token', { body: { ...ADMIN, email: 'ADMIN@localhost' } })
  test.match(json, { status: 'success', message: 'Login successful' })
  test.same(Object.keys(json.data), ['user', 'token', 'appliance_id', 'applianceVersion', 'licence'])
  test.match(json.data.user, { email: ADMIN.email, name: 'First Administrator', extra: [] })
  test.match(json.data, { appliance_id: node, applianceVersion: VERSION })
  test.match(json.data.licence, { supportExpired: false, maxVips: 2_147_483_647, maxRips: 2_147_483_647 })
  const days = (Date.UTC(9999, 11, 31) - Date.now()) / 86_400_000
  test.ok(Math.abs(json.data.licence.daysToExpire - days) <= 1, 'until supportExpireDate')
  test.same(
    json.data.licence.modules.map(({ name, enabled }: { name: string; enabled: boolean }) => [name, enabled]),
    [
      ['layer4', true],
      ['layer7', true],
    ],
  )
  test.notMatch(text, ADMIN.password)
})

t.test('a refresh is a new token of the same session; the old one stays valid', async (test) => {
  const { anonymous, login } = await borrow()
  const token = await login(ADMIN.email, ADMIN.password)
  const { json } = await anonymous('GET', '/token', { token })
  test.same(Object.keys(json.data), ['token'])
  const fresh = String(json.data.token)
  test.not(fresh, token)
  const sessionOf = (text: string) => JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()).sid
  test.equal(sessionOf(fresh), sessionOf(token))
  for (const bearer of [token, fresh]) test.equal((await anonymous('GET', '/token', { token: bearer })).status, 200)
})

t.test('a password of any characters logs in; one too long or empty is invalid', async (test) => {
  const { call, anonymous, login } = await borrow()
  const password = ' pä"ss\\wörd\n🚀 '
  const body = { email: 'u@localhost', firstname: 'A', lastname: 'B', password, disabled: false }
  test.equal((await call('POST', '/localUsers/users', { body })).status, 201)
  await call('PUT', '/services/apply')
  test.not(await login('u@localhost', password), 'undefined')
  const trimmed = await anonymous('POST', '/token', { body: { email: 'u@localhost', password: password.trim() } })
  test.match(trimmed.json, { code: 'INVALID_CREDENTIALS' })
  for (const wrong of ['', 'x'.repeat(1025)]) {
    const answer = await anonymous('POST', '/token', { body: { email: 'u@localhost', password: wrong } })
    test.match(answer.json, { code: 'INVALID_BODY', errors: [{ field: 'password' }] })
    if (wrong !== '') test.notMatch(answer.text, wrong)
  }
})

t.test('ping and the confirmation page need no token, even with a bad one', async (test) => {
  const { anonymous } = await borrow()
  for (const token of [undefined, 'a.b.c']) {
    const sent = token === undefined ? {} : { token }
    test.same((await anonymous('GET', '/ping', sent)).json, { status: 'success', message: 'pong', data: [] })
    const page = await anonymous('GET', '/confirm', sent)
    test.match(page.headers['content-type'], /^application\/json/)
    test.match(page.json, /^<!doctype html>.*certificate/s, 'a JSON string that holds a page')
  }
})

t.test('login options only offer what exists', async (test) => {
  const { anonymous } = await borrow()
  const answer = await anonymous('POST', '/login/options', { body: { email: ADMIN.email } })
  test.same(answer.json.data, {
    loginType: 'password',
    ssoEnforced: false,
    samlConfigured: false,
    samlEnforced: false,
    oidcConfigured: false,
    oidcEnforced: false,
    '2faRequired': false,
  })
  test.match((await anonymous('POST', '/login/options', { body: { email: 'no\u0007body' } })).json, {
    code: 'INVALID_BODY',
    errors: [{ field: 'email' }],
  })
})

t.test('the cookie of the page yields a token to a page of this address, and to no other', async (test) => {
  const { anonymous, login } = await borrow()
  const token = await login(ADMIN.email, ADMIN.password)
  const site = { 'sec-fetch-site': 'same-origin' }
  const own = { ...site, 'x-fulcrum-page': 'k'.repeat(43) }
  test.notOk((await anonymous('GET', '/token', { token })).headers['Set-Cookie'], 'programs get none')
  const keyless = await anonymous('GET', '/token', { token, headers: site })
  test.notOk(keyless.headers['Set-Cookie'], 'nor does a page without a key')
  const { headers } = await anonymous('GET', '/token', { token, headers: own })
  const sent = String(headers['Set-Cookie'])
  test.match(sent, /^__Host-fulcrum=[\w.-]+; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200$/)
  const cookie = sent.split(';')[0] ?? ''
  const resume = async (more: Readonly<Record<string, string>>) =>
    (await anonymous('POST', '/token/resume', { headers: { cookie, ...more } })).json.data.token
  const resumed = await resume(own)
  test.equal((await anonymous('GET', '/localUsers/me', { token: resumed })).status, 200)
  for (const from of ['cross-site', 'same-site', 'none', ''])
    test.equal(await resume({ ...own, 'sec-fetch-site': from }), null, `from ${from}`)
  // Browsers send a cookie to all ports of a host: whoever answers at another one has the cookie, but not the key.
  for (const key of [undefined, '', 'k'.repeat(42), 'j'.repeat(43)])
    test.equal(await resume(key === undefined ? site : { ...site, 'x-fulcrum-page': key }), null, `with key ${key}`)
  test.equal(await resume({ ...own, cookie: 'other=1' }), null)
  const asToken = cookie.slice(cookie.indexOf('=') + 1)
  test.equal((await anonymous('GET', '/localUsers/me', { token: asToken })).status, 401, 'it is no token')
  test.equal((await anonymous('GET', '/localUsers/me', { headers: { ...own, cookie } })).status, 401)
  const out = await anonymous('DELETE', '/token', { token, headers: own })
  test.match(String(out.headers['Set-Cookie']), /^__Host-fulcrum=;.*Max-Age=0$/)
  test.equal(await resume(own), null, 'nor after a logout')
})
