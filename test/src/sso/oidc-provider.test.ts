import t, { type Test } from 'tap'
import { OidcProvider } from '../../../src/sso/oidc-provider.ts'
import { forged, oidcProvider } from '../../simulators/oidc-provider.ts'

const MARKS = { state: '_1', nonce: 'nonce-1', verifier: 'v'.repeat(43) }
type Provider = Awaited<ReturnType<typeof oidcProvider>>

/** The wall clock advances, as tokens are checked against it; cached data last as long as the test says. */
function movedClock() {
  let passed_ms = 0
  return { now_ms: () => Date.now(), monotonic_ms: () => passed_ms, pass: (ms: number) => (passed_ms += ms) }
}

async function fixture(test: Test, more: object = {}, alg?: Parameters<typeof oidcProvider>[1]) {
  const provider = await oidcProvider(test, alg)
  const clock = movedClock()
  const config = { id: 'cluster', ...provider.config, ...more }
  const client = new OidcProvider({ config, clock, allowsLoopback: true, within_ms: 5_000 })
  const logIn = async (marks = MARKS) => (await client.loggedIn(await answerTo(client, provider, marks), marks)).email
  return { ...provider, provider, clock, config, client, logIn }
}

/** Returns the reason of a refusal: the library's message, and the provider's action. */
const saidBy = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error: unknown) => `${String(error)} ${String(Reflect.get(Object(error), 'error'))}`,
  )

/** Returns the parameters that the browser brings back. */
const answerTo = async (client: OidcProvider, provider: Provider, marks = MARKS) =>
  new URL(provider.authorize(await client.loginUrl(marks))).searchParams

t.test('a browser is redirected with PKCE, state and nonce, and the answer is an e-mail', async (test) => {
  const { client, logIn, issuer, config, asked } = await fixture(test)
  const { href, searchParams } = new URL(await client.loginUrl(MARKS))
  test.ok(href.startsWith(`${issuer}/auth?`))
  test.match(Object.fromEntries(searchParams), {
    response_type: 'code',
    client_id: config.clientId,
    redirect_uri: `${config.baseUrl}/api/v1/oidc/callback`,
    scope: 'openid email',
    state: MARKS.state,
    nonce: MARKS.nonce,
    code_challenge_method: 'S256',
  })
  test.notMatch(href, MARKS.verifier)
  test.equal(await logIn(), 'jane@example.org')
  test.equal(await logIn(), 'jane@example.org')
  test.equal(asked.filter((path) => path === '/keys').length, 1, 'keys are cached')
  test.equal(asked.filter((path) => path.startsWith('/.well-known')).length, 1, 'and so is its metadata')
})

for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const)
  t.test(`${alg} is accepted, whatever the provider claims to support`, async (test) => {
    const { logIn } = await fixture(test, {}, alg)
    test.equal(await logIn(), 'jane@example.org')
  })

t.test('a client without Basic sends its secret in the form, and one without a secret sends none', async (test) => {
  const { told, logIn } = await fixture(test)
  told.methods = ['client_secret_post']
  test.equal(await logIn(), 'jane@example.org')
  const { logIn: wrong } = await fixture(test, { clientSecret: 'another' })
  test.match(await saidBy(wrong()), /invalid_client/)
  const { logIn: without } = await fixture(test, { clientSecret: '' })
  test.match(await saidBy(without()), /invalid_client/)
})

const NOW = () => Math.floor(Date.now() / 1000)
const CLAIMS: readonly (readonly [string, () => object, RegExp])[] = [
  ['wrong nonce', () => ({ nonce: 'another' }), /nonce/],
  ['no nonce', () => ({ nonce: undefined }), /nonce/],
  ['wrong issuer', () => ({ iss: 'https://localhost/realms/other' }), /issuer/],
  ['wrong audience', () => ({ aud: 'another client' }), /audience/],
  ['several audiences', () => ({ aud: ['fulcrum at work', 'x'] }), /additional untrusted audiences/],
  ['azp of another client', () => ({ azp: 'another client' }), /azp/],
  ['expired', () => ({ exp: NOW() - 120, iat: NOW() - 400 }), /"exp"/],
  ['no exp', () => ({ exp: undefined }), /"exp"/],
  ['issued in the future', () => ({ iat: NOW() + 600, exp: NOW() + 900 }), /iat is in the future/],
  ['issued long ago', () => ({ iat: NOW() - 3_600 }), /iat is too long ago/],
  ['not valid yet', () => ({ nbf: NOW() + 600 }), /"nbf"/],
  ['e-mail unverified', () => ({ email_verified: false }), /email_verified is false/],
  ['e-mail unverified, as text', () => ({ email_verified: 'false' }), /email_verified is false/],
  ['no e-mail', () => ({ email: undefined }), /claim email is not a string/],
  ['an e-mail that is a list', () => ({ email: ['jane@example.org'] }), /claim email is not a string/],
]
for (const [title, claims, reason] of CLAIMS)
  t.test(`refused: ${title}`, async (test) => {
    const { told, logIn } = await fixture(test)
    told.claims = claims() as typeof told.claims
    test.match(await saidBy(logIn()), reason)
    told.claims = {}
    test.equal(await logIn(), 'jane@example.org')
  })

for (const [title, token, reason] of [
  ['alg none', forged.none, /"alg"/],
  ['HS256 with the public key', forged.hmac, /"alg"/],
  ['a signature of another key', forged.other, /signature/],
] as const)
  t.test(`refused: ${title}`, async (test) => {
    const { told, logIn } = await fixture(test)
    told.token = token
    test.match(await saidBy(logIn()), reason)
  })

t.test('refused: an answer to another login, without a code, or from another issuer', async (test) => {
  const { client, provider, told } = await fixture(test)
  const answer = await answerTo(client, provider)
  await test.rejects(client.loggedIn(answer, { ...MARKS, state: '_2' }), /state/)
  test.match(await saidBy(client.loggedIn(answer, { ...MARKS, verifier: 'w'.repeat(43) })), /invalid_grant/)
  test.match(await saidBy(client.loggedIn(answer, MARKS)), /invalid_grant/, 'the code is used up')
  const refused = new URLSearchParams({ state: MARKS.state, error: 'access_denied', iss: provider.issuer })
  test.match(await saidBy(client.loggedIn(refused, MARKS)), /access_denied/)
  const mixed = await answerTo(client, provider)
  mixed.set('iss', 'https://idp.example.test')
  await test.rejects(client.loggedIn(mixed, MARKS), /"iss"/)
  test.equal(told.claims['iss'], undefined)
})

t.test('an unknown key is fetched once, and not for every token that names one', async (test) => {
  const { logIn, rotate, published, asked, clock } = await fixture(test)
  const fetched = () => asked.filter((path) => path === '/keys').length
  await logIn()
  const next = rotate()
  await test.rejects(logIn(), /no applicable keys/)
  test.equal(fetched(), 1, 'keys have just been fetched')
  clock.pass(11_000)
  await test.rejects(logIn(), /no applicable keys/, 'it does not publish that one')
  await test.rejects(logIn(), /no applicable keys/)
  test.equal(fetched(), 2)
  published.push(next)
  clock.pass(11_000)
  test.equal(await logIn(), 'jane@example.org')
  test.equal(fetched(), 3)
})

t.test('a provider that is down is asked again when it may be back', async (test) => {
  const { client, told, clock, asked } = await fixture(test)
  told.instead.set('/.well-known/openid-configuration', 'not JSON')
  await test.rejects(client.loginUrl(MARKS))
  await test.rejects(client.loginUrl(MARKS))
  test.equal(asked.length, 1, 'logins in between get the same reason')
  told.instead.clear()
  clock.pass(3_000)
  test.match(await client.loginUrl(MARKS), /code_challenge=/)
})

t.test('its metadata must be of this issuer, and refer to https', async (test) => {
  const of = async (metadata: object) => {
    const { client, told } = await fixture(test)
    told.metadata = metadata as typeof told.metadata
    return client
  }
  await test.rejects((await of({ issuer: 'https://other.test' })).loginUrl(MARKS), /"issuer"/)
  const plain = await of({ authorization_endpoint: 'http://idp.test/auth' })
  await test.rejects(plain.loginUrl(MARKS), /is not https/)
  const script = await of({ authorization_endpoint: 'javascript:alert(1)' })
  await test.rejects(script.loginUrl(MARKS), /is not https/)
  const { client, provider, told } = await fixture(test)
  told.metadata = { token_endpoint: 'http://localhost/token' }
  await test.rejects(client.loggedIn(await answerTo(client, provider), MARKS), /HTTPS/)
})
