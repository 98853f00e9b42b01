import t, { type Test } from 'tap'
import { ADMIN } from '../../../fixtures/appliance.ts'
import { sharedAppliance } from '../../../fixtures/shared-appliance.ts'
import { type Claims, requestIdOf, samlProvider } from '../../../simulators/saml-provider.ts'

const borrow = sharedAppliance(t)

const JANE = {
  email: 'jane@example.org',
  firstname: 'Jane',
  lastname: 'Doe',
  password: 'a-password',
  disabled: 'false',
}

async function fixture(test: Test, more: object = {}) {
  const parts = await borrow()
  const { call, anonymous } = parts
  const provider = await samlProvider(test)
  const janeId = (await call('POST', '/localUsers/users', { body: JANE })).json.data.id
  const put = (body: object) => call('PUT', '/saml/config', { body })
  test.equal((await put({ ...provider.config, ...more })).status, 200)
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const begin = async (headers: Readonly<Record<string, string>> = {}) => {
    const answer = await anonymous('GET', '/saml/login', { headers })
    test.equal(answer.status, 303)
    const [cookie = ''] = (answer.headers['Set-Cookie'] ?? '').split(';')
    return { cookie, requestId: requestIdOf(answer.headers['Location'] ?? '') }
  }
  const post = (SAMLResponse: string, cookie: string) =>
    anonymous('POST', '/saml/acs', {
      raw: new URLSearchParams({ SAMLResponse, RelayState: '' }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', cookie: `other=1; ${cookie}` },
    })
  const finish = async (claims: Partial<Claims> = {}) => {
    const { cookie, requestId } = await begin()
    return post(provider.response({ inResponseTo: requestId, ...claims }), cookie)
  }
  const codeOf = (page: string) => /<code id="code">([^<]+)</.exec(page)?.[1] ?? ''
  const redeem = (code: string) => anonymous('POST', '/saml/token', { body: { code } })
  return { ...parts, provider, put, begin, post, finish, codeOf, redeem, janeId }
}

t.test('through the identity provider, into a session', async (test) => {
  const { finish, codeOf, redeem, anonymous, begin, call } = await fixture(test)
  const login = await anonymous('GET', '/saml/login')
  test.match(login.headers['Set-Cookie'], /^__Host-[^;]+; Path=\/; Secure; HttpOnly; SameSite=None; Max-Age=600$/)
  test.not((await begin()).requestId, (await begin()).requestId)
  const page = await finish()
  test.equal(page.status, 200)
  test.match(page.headers['Content-Security-Policy'], /default-src 'none'/)
  test.match(page.headers['Cache-Control'], /no-store/)
  const session = await redeem(codeOf(page.text))
  test.match(session.json.data, { user: { email: 'jane@example.org', name: 'Jane Doe' }, token: String, licence: {} })
  const { token } = session.json.data
  test.match((await anonymous('GET', '/localUsers/me/sessions', { token })).json.data, [{ via: 'saml' }])
  test.match((await redeem(codeOf(page.text))).json, { code: 'INVALID_CREDENTIALS' }, 'a code is valid once')
  const entries = (await call('GET', '/audit?endpoint=saml.token&limit=5')).json.data
  test.match(entries, [{ outcome: 'refused' }, { outcome: 'done', by: 'jane@example.org', via: 'saml' }])
})

t.test('a code is valid as long as the provider that vouched for it is configured', async (test) => {
  const { finish, codeOf, redeem, put, call, janeId } = await fixture(test)
  const applied = async (wanted: object) => {
    await put(wanted)
    test.equal((await call('PUT', '/services/apply')).status, 200)
  }
  const kept = codeOf((await finish()).text)
  await call('PUT', `/localUsers/users/${janeId}`, { body: { lastName: 'Roe' } })
  await applied({})
  test.equal((await redeem(kept)).status, 200, 'whatever else is applied')
  for (const changes of [[{ enabled: false }, { enabled: true }], [{ idpEntityId: 'https://another.test' }]]) {
    const code = codeOf((await finish()).text)
    for (const wanted of changes) await applied(wanted)
    test.match((await redeem(code)).json, { code: 'INVALID_CREDENTIALS' })
  }
})

t.test('a session ends when the way by which it was opened is switched off, and no other does', async (test) => {
  const { finish, codeOf, redeem, put, call, anonymous, login } = await fixture(test)
  const statusOf = async (token: string) => (await anonymous('GET', '/localUsers/me', { token })).status
  const applied = async (wanted: object) => {
    await put(wanted)
    test.equal((await call('PUT', '/services/apply')).status, 200)
  }
  const { token } = (await redeem(codeOf((await finish()).text))).json.data
  const withPassword = await login(JANE.email, JANE.password)
  await applied({ emailAttribute: 'mail' })
  test.equal(await statusOf(token), 200, 'whatever else changes')
  await applied({ enabled: false })
  test.equal(await statusOf(token), 401)
  await applied({ enabled: true })
  test.equal(await statusOf(token), 401, 'also when it is on again')
  test.equal(await statusOf(withPassword), 200)
})

t.test('an answer is valid once, in the browser that began the login', async (test) => {
  const { begin, post, provider } = await fixture(test)
  const { cookie, requestId } = await begin()
  const other = await begin()
  const response = provider.response({ inResponseTo: requestId })
  for (const wrong of ['', '__Host-fulcrum-saml=', '__Host-fulcrum-saml=x', other.cookie]) {
    test.match((await post(response, wrong)).json, { code: 'INVALID_CREDENTIALS' }, wrong)
  }
  test.equal((await post(response, cookie)).status, 200)
  test.match((await post(response, cookie)).json, { code: 'INVALID_CREDENTIALS' })
  const pair = await begin()
  const twice = provider.response({ inResponseTo: pair.requestId })
  const answers = await Promise.all([post(twice, pair.cookie), post(twice, pair.cookie)])
  test.equal(answers.filter(({ status }) => status === 200).length, 1, 'also at the same moment')
})

t.test('an unknown or disabled user gets no session', async (test) => {
  const { finish, codeOf, redeem, call, janeId } = await fixture(test)
  const stranger = await finish({ email: 'stranger@example.org' })
  test.match((await redeem(codeOf(stranger.text))).json, { code: 'INVALID_CREDENTIALS' })
  await call('PUT', `/localUsers/users/${janeId}`, { body: { disabled: true } })
  await call('PUT', '/services/apply')
  test.match((await redeem(codeOf((await finish()).text))).json, { code: 'USER_DISABLED' })
  test.match((await finish({ audience: 'https://other.test' })).json, { code: 'INVALID_CREDENTIALS' })
})

t.test('enforced, only break-glass users log in with a password; login options treat all alike', async (test) => {
  const { put, call, anonymous, login } = await fixture(test)
  const options = async (email: string) => (await anonymous('POST', '/login/options', { body: { email } })).json.data
  test.match(await options(JANE.email), { loginType: 'password', samlConfigured: true, samlEnforced: false })
  const without = await put({ enforced: true })
  test.match(without.json, { errors: [{ field: 'breakGlassUserId' }] })
  const me = (await call('GET', '/localUsers/me')).json.data
  const users = (await call('GET', '/localUsers/users')).json.data
  const jane = users.find((user: { email: string }) => user.email === JANE.email)
  await put({ enforced: true, breakGlassUserId: jane.id })
  test.match((await call('PUT', '/services/apply')).json, { code: 'CONFIG_INVALID' }, 'Jane is no administrator')
  await put({ breakGlassUserId: me.id })
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const refused = await anonymous('POST', '/token', { body: { email: JANE.email, password: JANE.password } })
  test.match(refused.json, { code: 'SSO_ENFORCED' })
  test.not(await login(ADMIN.email, ADMIN.password), '')
  test.same(await options(JANE.email), await options('nobody@example.org'))
  test.match(await options(ADMIN.email), { loginType: 'saml', ssoEnforced: true, samlEnforced: true })
  test.match((await call('DELETE', `/localUsers/users/${me.id}`)).json, { code: 'IN_USE' })
})

t.test('impossible settings are refused by field, and without a configuration there is no such login', async (test) => {
  const { call, anonymous } = await borrow()
  const put = async (body: object) => (await call('PUT', '/saml/config', { body })).json.errors ?? []
  const fields = async (body: object) => (await put(body)).map(({ field }: { field: string }) => field)
  test.same(await fields({ enabled: true }), ['idpEntityId', 'idpSsoUrl', 'baseUrl', 'idpCertificates'])
  test.same(await fields({ idpSsoUrl: 'javascript:alert(1)' }), ['idpSsoUrl'])
  for (const baseUrl of ['http://lb.test', 'https://lb.test/', 'https://lb.test/x', 'https://u:p@lb.test', 'x']) {
    test.same(await fields({ baseUrl }), ['baseUrl'], baseUrl)
  }
  test.same(await fields({ idpCertificates: ['x', '-----BEGIN CERTIFICATE-----'] }), [
    'idpCertificates.0',
    'idpCertificates.1',
  ])
  test.same(await fields({ enforced: true, breakGlassUserId: 'x' }), ['enforced'])
  for (const [method, path, body] of [
    ['GET', '/saml/login'],
    ['GET', '/saml/metadata'],
    ['POST', '/saml/acs', { SAMLResponse: 'x' }],
    ['POST', '/saml/token', { code: 'x' }],
  ] as const) {
    test.match((await anonymous(method, path, body === undefined ? {} : { body })).json, { code: 'NOT_FOUND' }, path)
  }
  test.match((await call('GET', '/saml/config')).json.data, { enabled: false, idpCertificates: [] })
})

t.test('a login of the admin page ends there, in the browser that began it', async (test) => {
  const { begin, post, provider, anonymous } = await fixture(test)
  const finished = async (site: string) => {
    const begun = await begin({ 'sec-fetch-site': site })
    const { cookie, requestId } = begun
    const done = await post(provider.response({ inResponseTo: requestId }), cookie)
    const [, code = ''] = /^\/#sso=([\w-]{43})&via=saml$/.exec(done.headers['Location'] ?? '') ?? []
    return { cookie, done, code }
  }
  const redeem = (code: string, cookie: string) =>
    anonymous('POST', '/saml/token', { body: { code }, headers: { cookie } })
  const { cookie, done, code } = await finished('same-origin')
  test.match([done.status, done.headers['Cache-Control']], [303, 'no-store'])
  test.match((await redeem(code, cookie)).json.data, { user: { email: 'jane@example.org' }, token: String })
  test.match((await redeem(code, cookie)).json, { code: 'INVALID_CREDENTIALS' }, 'once')
  const stolen = await finished('same-origin')
  test.match((await redeem(stolen.code, '')).json, { code: 'INVALID_CREDENTIALS' }, 'another browser')
  test.match((await redeem((await finished('same-origin')).code, cookie)).json, { code: 'INVALID_CREDENTIALS' })
  for (const site of ['cross-site', 'same-site', 'none', ''])
    test.match([(await finished(site)).done.status], [200], `a page from elsewhere: ${site}`)
})

t.test('a refused browser is redirected to the page, with a word and nothing of the sent data', async (test) => {
  const { begin, provider, anonymous, call } = await fixture(test)
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const post = (SAMLResponse: string, cookie: string, want = accept) =>
    anonymous('POST', '/saml/acs', { body: { SAMLResponse }, headers: { accept: want, cookie } })
  const { cookie, requestId } = await begin()
  const refused = '/#refused=INVALID_CREDENTIALS&by=saml.acs'
  const wrong = await post('bm8gYW5zd2Vy', cookie)
  test.match([wrong.status, wrong.headers['Location'], wrong.text], [303, refused, 'See Location'])
  test.match(wrong.headers, { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
  const right = provider.response({ inResponseTo: requestId })
  test.equal((await post(right, '')).headers['Location'], refused, 'a browser that has begun no login')
  test.match((await post(right, '', 'application/json')).json, { code: 'INVALID_CREDENTIALS' }, 'JSON for programs')
  test.match((await call('GET', '/audit?endpoint=saml.acs&limit=1')).json.data, [{ outcome: 'refused', status: 401 }])
  test.equal((await post(right, cookie)).status, 200, 'the refused one has not ended the login')
  test.equal((await post(right, cookie)).headers['Location'], refused, 'used')
  await call('PUT', '/saml/config', { body: { enabled: false } })
  await call('PUT', '/services/apply')
  const login = await anonymous('GET', '/saml/login', { headers: { accept } })
  test.match([login.status, login.headers['Location']], [303, '/#refused=NOT_FOUND&by=saml.login'])
})
