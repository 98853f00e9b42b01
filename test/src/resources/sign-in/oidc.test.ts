import t, { type Test } from 'tap'
import { ADMIN } from '../../../fixtures/appliance.ts'
import { sharedAppliance } from '../../../fixtures/shared-appliance.ts'
import { CLIENT_SECRET, oidcProvider } from '../../../simulators/oidc-provider.ts'

const borrow = sharedAppliance(t)

const JANE = {
  email: 'jane@example.org',
  firstname: 'Jane',
  lastname: 'Doe',
  password: 'a-password',
  disabled: 'false',
}

async function fixture(test: Test) {
  const parts = await borrow()
  const { call, anonymous } = parts
  const provider = await oidcProvider(test)
  const janeId = (await call('POST', '/localUsers/users', { body: JANE })).json.data.id
  const put = (body: object) => call('PUT', '/oidc/config', { body })
  test.equal((await put(provider.config)).status, 200)
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const begin = async (headers: Readonly<Record<string, string>> = {}) => {
    const answer = await anonymous('GET', '/oidc/login', { headers })
    test.equal(answer.status, 303)
    const [cookie = ''] = (answer.headers['Set-Cookie'] ?? '').split(';')
    return { cookie, location: answer.headers['Location'] ?? '' }
  }
  /** The request of a browser that the provider has redirected back. */
  const back = (location: string) => new URL(provider.authorize(location)).search
  const callback = (search: string, cookie: string) =>
    anonymous('GET', `/oidc/callback${search}`, { headers: { cookie: `other=1; ${cookie}` } })
  const finish = async () => {
    const { cookie, location } = await begin()
    return callback(back(location), cookie)
  }
  const codeOf = (page: string) => /<code id="code">([^<]+)</.exec(page)?.[1] ?? ''
  const redeem = (code: string) => anonymous('POST', '/oidc/token', { body: { code } })
  return { ...parts, provider, put, begin, back, callback, finish, codeOf, redeem, janeId }
}

t.test('through the provider, into a session', async (test) => {
  const { finish, codeOf, redeem, anonymous, begin, call } = await fixture(test)
  const login = await anonymous('GET', '/oidc/login')
  test.match(login.headers['Set-Cookie'], /^__Host-[^;]+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/)
  test.not((await begin()).location, (await begin()).location)
  const page = await finish()
  test.equal(page.status, 200)
  test.match(page.headers['Content-Security-Policy'], /default-src 'none'/)
  test.match(page.headers['Cache-Control'], /no-store/)
  test.match(page.text, '/oidc/token')
  const session = await redeem(codeOf(page.text))
  test.match(session.json.data, { user: { email: 'jane@example.org', name: 'Jane Doe' }, token: String, licence: {} })
  const { token } = session.json.data
  test.match((await anonymous('GET', '/localUsers/me/sessions', { token })).json.data, [{ via: 'oidc' }])
  test.match((await redeem(codeOf(page.text))).json, { code: 'INVALID_CREDENTIALS' }, 'a code is valid once')
  const entries = (await call('GET', '/audit?endpoint=oidc.token&limit=5')).json.data
  test.match(entries, [{ outcome: 'refused' }, { outcome: 'done', by: 'jane@example.org', via: 'oidc' }])
  const callbacks = (await call('GET', '/audit?endpoint=oidc.callback&limit=5')).json.data
  test.match(callbacks, [{ outcome: 'done', path: /callback$/ }])
  test.notOk('query' in callbacks[0], 'the code of the provider stays out of the audit log')
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
  for (const changes of [[{ enabled: false }, { enabled: true }], [{ clientId: 'another' }]]) {
    const code = codeOf((await finish()).text)
    for (const wanted of changes) await applied(wanted)
    test.match((await redeem(code)).json, { code: 'INVALID_CREDENTIALS' })
  }
})

t.test('wrong state, and another browser: an answer is valid where it was requested', async (test) => {
  const { begin, back, callback } = await fixture(test)
  const { cookie, location } = await begin()
  const other = await begin()
  const answer = back(location)
  for (const wrong of ['', '__Host-fulcrum-oidc=', '__Host-fulcrum-oidc=x', other.cookie])
    test.match((await callback(answer, wrong)).json, { code: 'INVALID_CREDENTIALS' }, wrong)
  for (const state of ['', 'x', '_1'])
    test.match((await callback(answer.replace(/state=[^&]*/, `state=${state}`), cookie)).json, {
      code: 'INVALID_CREDENTIALS',
    })
  test.match((await callback('?code=x', cookie)).json, { code: 'INVALID_CREDENTIALS' }, 'no state')
  test.equal((await callback(answer, cookie)).status, 200)
})

t.test('replay: an answer is valid once, also at the same moment', async (test) => {
  const { begin, back, callback } = await fixture(test)
  const { cookie, location } = await begin()
  const answer = back(location)
  test.equal((await callback(answer, cookie)).status, 200)
  test.match((await callback(answer, cookie)).json, { code: 'INVALID_CREDENTIALS' })
  test.match((await callback(back(location), cookie)).json, { code: 'INVALID_CREDENTIALS' }, 'nor does a fresh code')
  const pair = await begin()
  const answers = await Promise.all([1, 2].map(() => callback(back(pair.location), pair.cookie)))
  test.equal(answers.filter(({ status }) => status === 200).length, 1)
})

t.test('unknown user, disabled user and unverified e-mail get no session', async (test) => {
  const { finish, codeOf, redeem, call, janeId, provider } = await fixture(test)
  provider.told.claims = { email: 'stranger@example.org' }
  test.match((await redeem(codeOf((await finish()).text))).json, { code: 'INVALID_CREDENTIALS' })
  provider.told.claims = { email_verified: false }
  test.match((await finish()).json, { code: 'INVALID_CREDENTIALS' })
  provider.told.claims = {}
  await call('PUT', `/localUsers/users/${janeId}`, { body: { disabled: true } })
  await call('PUT', '/services/apply')
  test.match((await redeem(codeOf((await finish()).text))).json, { code: 'USER_DISABLED' })
})

t.test('a provider that is down, or admits no user, becomes a refusal', async (test) => {
  const { begin, callback, anonymous, provider, put, call } = await fixture(test)
  const { cookie, location } = await begin()
  const state = new URL(location).searchParams.get('state')
  const denied = await callback(`?error=access_denied&error_description=no&state=${state}`, cookie)
  test.match(denied.json, { code: 'INVALID_CREDENTIALS' })
  await provider.down()
  await put({ scopes: ['openid'] })
  await call('PUT', '/services/apply')
  const answer = await anonymous('GET', '/oidc/login')
  test.equal(answer.status, 401)
  test.match(answer.json, { code: 'INVALID_CREDENTIALS', message: /does not answer correctly/ })
})

t.test('a refused browser is redirected to the page, with a word and nothing of the sent data', async (test) => {
  const { begin, back, anonymous, provider, put, call } = await fixture(test)
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const browser = (path: string, cookie = '') => anonymous('GET', path, { headers: { accept, cookie } })
  const { cookie, location } = await begin()
  const state = new URL(location).searchParams.get('state') ?? ''
  const evil = 'error=access_denied&error_description=%0d%0aX:1<script>&iss=https://evil.test'
  const denied = await browser(`/oidc/callback?${evil}&state=${state}`, cookie)
  test.match([denied.status, denied.headers['Location']], [303, '/#refused=INVALID_CREDENTIALS&by=oidc.callback'])
  test.match(denied.headers, { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
  test.equal(denied.text, 'See Location')
  for (const secret of [state, cookie, 'evil']) test.notOk(JSON.stringify(denied).includes(secret), secret)
  const stranger = await browser(`/oidc/callback${back(location)}`)
  test.equal(stranger.headers['Location'], '/#refused=INVALID_CREDENTIALS&by=oidc.callback', 'without its cookie')
  const entries = (await call('GET', '/audit?endpoint=oidc.callback&limit=2')).json.data
  test.match(entries, [{ outcome: 'refused' }, { outcome: 'refused', status: 401, code: 'INVALID_CREDENTIALS' }])
  test.match((await browser(`/oidc/callback${back((await begin()).location)}`, (await begin()).cookie)).status, 303)
  await provider.down()
  await put({ scopes: ['openid'] })
  await call('PUT', '/services/apply')
  test.equal((await browser('/oidc/login')).headers['Location'], '/#refused=INVALID_CREDENTIALS&by=oidc.login')
  const program = await anonymous('GET', '/oidc/login', { headers: { accept: 'application/json, */*' } })
  test.match([program.status, program.json], [401, { code: 'INVALID_CREDENTIALS' }], 'JSON for programs, as before')
})

t.test('enforced, only break-glass users log in with a password; login options treat all alike', async (test) => {
  const { put, call, anonymous, login, janeId, finish, codeOf, redeem } = await fixture(test)
  const options = async (email: string) => (await anonymous('POST', '/login/options', { body: { email } })).json.data
  test.match(await options(JANE.email), { loginType: 'password', oidcConfigured: true, oidcEnforced: false })
  test.match((await put({ enforced: true })).json, { errors: [{ field: 'breakGlassUserId' }] })
  const me = (await call('GET', '/localUsers/me')).json.data
  await put({ enforced: true, breakGlassUserId: janeId })
  test.match((await call('PUT', '/services/apply')).json, { code: 'CONFIG_INVALID' }, 'Jane is no administrator')
  await put({ breakGlassUserId: me.id })
  test.equal((await call('PUT', '/services/apply')).status, 200)
  const refused = await anonymous('POST', '/token', { body: { email: JANE.email, password: JANE.password } })
  test.match(refused.json, { code: 'SSO_ENFORCED', message: /GET \/oidc\/login/ })
  test.not(await login(ADMIN.email, ADMIN.password), '')
  test.same(await options(JANE.email), await options('nobody@example.org'))
  test.match(await options(ADMIN.email), { loginType: 'oidc', ssoEnforced: true, oidcEnforced: true })
  test.match(await options(ADMIN.email), { samlConfigured: false, samlEnforced: false })
  test.match((await redeem(codeOf((await finish()).text))).json.data, { user: { email: JANE.email } })
  const deleted = await call('DELETE', `/localUsers/users/${me.id}`)
  test.match(deleted.json, { code: 'IN_USE', message: /used by OIDC configuration/ })
  const demoted = await call('PUT', `/localUsers/users/${me.id}`, { body: { disabled: true } })
  test.match(demoted.json, { code: 'IN_USE' })
})

t.test('impossible settings are refused by field, and without a configuration there is no such login', async (test) => {
  const { call, anonymous } = await borrow()
  const put = async (body: object) => (await call('PUT', '/oidc/config', { body })).json.errors ?? []
  const fields = async (body: object) => (await put(body)).map(({ field }: { field: string }) => field)
  test.same(await fields({ enabled: true }), ['issuer', 'clientId', 'baseUrl'])
  for (const issuer of ['http://idp.test', 'https://idp.test?x', 'https://u:p@idp.test', 'javascript:alert(1)', 'x'])
    test.same(await fields({ issuer }), ['issuer'], issuer)
  test.same(await fields({ baseUrl: 'https://lb.test/' }), ['baseUrl'])
  test.same(await fields({ scopes: ['email'] }), ['scopes'])
  test.same(await fields({ scopes: ['openid', 'a b'] }), ['scopes.1'])
  test.same(await fields({ caCertificate: 'x' }), ['caCertificate'])
  test.same(await fields({ emailClaim: '' }), ['emailClaim'])
  test.same(await fields({ enforced: true, breakGlassUserId: 'x' }), ['enforced'])
  for (const [method, path, body] of [
    ['GET', '/oidc/login'],
    ['GET', '/oidc/callback?code=x&state=y'],
    ['POST', '/oidc/token', { code: 'x' }],
  ] as const)
    test.match((await anonymous(method, path, body === undefined ? {} : { body })).json, { code: 'NOT_FOUND' }, path)
  test.match((await call('GET', '/oidc/config')).json.data, { enabled: false, clientSecret: '', emailClaim: 'email' })
})

t.test('the secret is never returned, kept by ** or omission, and not for another issuer', async (test) => {
  const { call, put } = await fixture(test)
  const shown = await call('GET', '/oidc/config')
  test.match(shown.json.data, { clientSecret: '**', issuer: String })
  test.equal((await put(shown.json.data)).status, 200, 'the record as read can be sent back')
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
  test.match((await put({ issuer: 'https://idp.evil.test' })).json, { errors: [{ field: 'clientSecret' }] })
  const again = { issuer: 'https://idp.evil.test', clientSecret: '**' }
  test.match((await put(again)).json, { errors: [{ field: 'clientSecret' }] })
  test.equal((await put({ issuer: 'https://idp.other.test', clientSecret: 'for the other' })).status, 200)
  const pending = await call('GET', '/services/pending')
  for (const { text } of [shown, pending]) {
    test.notOk(text.includes(CLIENT_SECRET))
    test.notOk(text.includes('for the other'))
  }
  test.equal((await put({ clientSecret: null })).status, 200)
  test.match((await call('GET', '/oidc/config')).json.data, { clientSecret: '' })
  const unstored = { clientSecret: '**' }
  test.match((await put(unstored)).json, { errors: [{ field: 'clientSecret', code: 'PASSWORD_NOT_STORED' }] })
})

t.test('a login of the admin page ends there, in the browser that began it', async (test) => {
  const { begin, back, callback, anonymous } = await fixture(test)
  const finished = async (site: string) => {
    const begun = await begin({ 'sec-fetch-site': site })
    const { cookie, location } = begun
    const done = await callback(back(location), cookie)
    const [, code = ''] = /^\/#sso=([\w-]{43})&via=oidc$/.exec(done.headers['Location'] ?? '') ?? []
    return { cookie, done, code }
  }
  const redeem = (code: string, cookie: string) =>
    anonymous('POST', '/oidc/token', { body: { code }, headers: { cookie } })
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
