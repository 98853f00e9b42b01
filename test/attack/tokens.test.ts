import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { ADMIN, applianceFixture, type Caller } from '../fixtures/appliance.ts'
import { base64url, createUser, daemonKey, parts, PASSWORD, roleIds } from './attack-fixture.ts'

type Claims = Readonly<Record<string, unknown>>

const unsigned = (header: unknown, claims: unknown) => `${base64url(header)}.${base64url(claims)}`
function hmac(header: unknown, claims: unknown, hash: string, secret: string | Buffer): string {
  const text = unsigned(header, claims)
  return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`
}
function signed(header: unknown, claims: unknown, key: KeyObject, hash: string | null = null): string {
  const text = unsigned(header, claims)
  return `${text}.${sign(hash, Buffer.from(text), key).toString('base64url')}`
}

/** The owner of a genuine token, who knows the public key, and wants another identity or a longer session. */
async function fixture(test: Test, clock = systemClock) {
  const made = await applianceFixture(test, {}, {}, clock)
  const { header, claims } = parts(made.token)
  return { ...made, header, claims, ...daemonKey(made.state) }
}

/** Statuses of endpoints that need no right, and of one that does. */
async function comesIn(anonymous: Caller, token: string): Promise<readonly number[]> {
  const answers = await Promise.all(
    ['/localUsers/me', '/rbac/roles', '/token'].map((path) => anonymous('GET', path, { token })),
  )
  return answers.map(({ status }) => status)
}
const OUTSIDE = [401, 401, 401]

t.test('JWT without a signature, or with another kind of it: no access', async (test) => {
  const { anonymous, token, header, claims, pem, open } = await fixture(test)
  test.same(await comesIn(anonymous, token), [200, 200, 200], 'the genuine one')
  const signature = token.split('.')[2]
  const tokens: Record<string, string> = {}
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '', null, undefined, 0, [], ['EdDSA'], 'HS256', 'eddsa']) {
    tokens[`alg ${JSON.stringify(alg)} without signature`] = `${unsigned({ ...header, alg }, claims)}.`
    tokens[`alg ${JSON.stringify(alg)} with the old signature`] = `${unsigned({ ...header, alg }, claims)}.${signature}`
  }
  const secrets = {
    'public PEM': open.export({ type: 'spki', format: 'pem' }),
    'public PEM, trimmed': open.export({ type: 'spki', format: 'pem' }).toString().trim(),
    'public DER': open.export({ type: 'spki', format: 'der' }),
    'public bytes': Buffer.from(String(open.export({ format: 'jwk' }).x), 'base64url'),
    'private PEM': pem,
    nothing: '',
    'the key id': String(header['kid']),
  }
  for (const [name, secret] of Object.entries(secrets)) {
    for (const bits of ['256', '384', '512'])
      tokens[`HS${bits} with ${name}`] = hmac({ ...header, alg: `HS${bits}` }, claims, `sha${bits}`, secret)
    tokens[`EdDSA that is a HMAC with ${name}`] = hmac(header, claims, 'sha512', secret)
  }
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  tokens['RS256'] = signed({ ...header, alg: 'RS256' }, claims, rsa, 'sha256')
  tokens['ES256'] = signed({ ...header, alg: 'ES256' }, claims, ec, 'sha256')
  tokens['a zero signature'] = `${unsigned(header, claims)}.${Buffer.alloc(64).toString('base64url')}`
  for (const [name, forged] of Object.entries(tokens)) test.same(await comesIn(anonymous, forged), OUTSIDE, name)
})

t.test('JWT with a key of the attacker (kid, jwk, jku, x5u, x5c): refused, and nothing is fetched', async (test) => {
  let asked = 0
  const server = createServer((_, response) => {
    asked += 1
    response.end('{}')
  }).listen(0, '127.0.0.1')
  test.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { anonymous, header, claims } = await fixture(test)
  const own = generateKeyPairSync('ed25519')
  const jwk = { ...own.publicKey.export({ format: 'jwk' }), kid: header['kid'] }
  const url = `http://127.0.0.1:${port}/keys.json`
  const der = own.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  const headers = [
    {},
    { jwk },
    { jku: url },
    { x5u: url },
    { x5c: [der] },
    { jku: url, jwk, x5u: url, x5c: [der] },
    ...['', '../../../../dev/null', '/proc/self/environ', "x' UNION SELECT 'x'--", '$(id)', '|id', '__proto__'].map(
      (kid) => ({ kid }),
    ),
    { kid: null },
    { kid: ['a'] },
    { kid: { toString: 'x' } },
    { b64: false, crit: ['b64'] },
    { crit: ['unheard-of'] },
    { zip: 'DEF' },
    { enc: 'A128GCM', alg: 'dir' },
  ]
  for (const more of headers) {
    const title = JSON.stringify(more).slice(0, 60)
    test.same(await comesIn(anonymous, signed({ ...header, ...more }, claims, own.privateKey)), OUTSIDE, title)
    test.same(await comesIn(anonymous, hmac({ ...header, ...more, alg: 'HS256' }, claims, 'sha256', '')), OUTSIDE)
    test.same(await comesIn(anonymous, hmac({ ...header, ...more, alg: 'HS256' }, claims, 'sha256', 'x')), OUTSIDE)
  }
  test.equal(asked, 0, 'no key was fetched')
})

t.test("JWT with changed claims, or claims unlike the session's: refused, also when well signed", async (test) => {
  const { call, anonymous, login, header, claims, key, token } = await fixture(test)
  const other = await createUser(call, 'other@localhost')
  await call('PUT', '/services/apply')
  const otherClaims = parts(await login('other@localhost', PASSWORD)).claims
  const now = Math.floor(Date.now() / 1000)
  const changed: readonly Claims[] = [
    { sub: other },
    { sid: otherClaims['sid'] },
    { sid: 'unknown' },
    { sid: '' },
    { sid: null },
    { sid: ['x'] },
    { sid: '__proto__' },
    { sid: 'constructor' },
    { sub: undefined },
    { sub: '__proto__' },
    { exp: undefined },
    { exp: `${now + 999}` },
    { exp: now - 1 },
    { exp: 0 },
    { exp: -1 },
    { exp: null },
    { nbf: now + 3600 },
  ]
  const [, , signature] = token.split('.')
  for (const more of changed) {
    const title = JSON.stringify(more)
    const wanted = { ...claims, ...more }
    test.same(await comesIn(anonymous, `${unsigned(header, wanted)}.${signature}`), OUTSIDE, `old signature: ${title}`)
    test.same(await comesIn(anonymous, signed(header, wanted, key)), OUTSIDE, `signed with the real key: ${title}`)
  }
  const far = signed(header, { ...claims, exp: 9e15, roles: ['Administrator'] }, key)
  test.same(await comesIn(anonymous, far), [200, 200, 200], 'a stolen key still needs a live session')
  await call('DELETE', '/token')
  test.same(await comesIn(anonymous, far), OUTSIDE, 'and ends with it')
})

t.test('a JWT that lasts too long: its session ends after twelve hours, the token after one', async (test) => {
  let passed_ms = 0
  const clock = { ...systemClock, now_ms: () => systemClock.now_ms() + passed_ms }
  const { anonymous, token, header, claims, key } = await fixture(test, clock)
  const far = signed(header, { ...claims, exp: 9e15 }, key)
  test.same(await comesIn(anonymous, far), [200, 200, 200])
  passed_ms = 3_601_000
  test.match(await anonymous('GET', '/services', { token }), { status: 401, json: { code: 'TOKEN_EXPIRED' } })
  passed_ms = 12 * 3_600_000 + 1000
  test.same(await comesIn(anonymous, far), OUTSIDE)
})

t.test(
  'replay: a token is worthless after logout, password change, disabling, deletion and loss of a role',
  async (test) => {
    const { call, anonymous, login } = await fixture(test)
    const roles = await roleIds(call)
    const email = 'replayed@localhost'
    const id = await createUser(call, email, [roles['Auditor'] ?? ''])
    await call('PUT', '/services/apply')
    const apply = () => call('PUT', '/services/apply')
    const inside = [200, 200, 200]
    let [token, second] = [await login(email, PASSWORD), await login(email, PASSWORD)]
    test.same(await comesIn(anonymous, token), inside)
    await anonymous('DELETE', '/token', { token })
    test.same(await comesIn(anonymous, token), OUTSIDE, 'logged out')
    test.same(await comesIn(anonymous, second), inside, 'another session stays valid')
    token = await login(email, PASSWORD)
    const body = { currentPassword: PASSWORD, newPassword: `${PASSWORD}, another` }
    test.equal((await anonymous('PUT', '/localUsers/me/password', { token, body })).status, 200)
    test.same(await comesIn(anonymous, second), OUTSIDE, 'own password changed: other sessions end')
    test.same(await comesIn(anonymous, token), inside, 'the session that changed it stays')
    await call('PUT', `/localUsers/users/${id}`, { body: { password: PASSWORD } })
    await apply()
    test.same(await comesIn(anonymous, token), OUTSIDE, 'password set by an administrator')
    token = await login(email, PASSWORD)
    await call('PUT', `/localUsers/users/${id}`, { body: { roles: [] } })
    await apply()
    test.same(await comesIn(anonymous, token), [200, 403, 200], 'role removed')
    await call('PUT', `/localUsers/users/${id}`, { body: { disabled: 'true', roles: [roles['Auditor']] } })
    await apply()
    test.same(await comesIn(anonymous, token), OUTSIDE, 'disabled')
    await call('PUT', `/localUsers/users/${id}`, { body: { disabled: 'false' } })
    await apply()
    test.same(await comesIn(anonymous, token), OUTSIDE, 'enabled again: ended sessions stay ended')
    second = await login(email, PASSWORD)
    await call('DELETE', `/localUsers/users/${id}`)
    await apply()
    test.same(await comesIn(anonymous, second), OUTSIDE, 'deleted')
  },
)

t.test('a token in another place than its header, or in another form, is not accepted', async (test) => {
  const { anonymous, token } = await fixture(test)
  const get = (path: string, headers: Record<string, string>) => anonymous('GET', path, { headers })
  for (const name of ['token', 'access_token', 'authorization', 'bearer', 'jwt'])
    test.equal((await get(`/localUsers/me?${name}=${token}`, {})).status, 401, `in the query as ${name}`)
  for (const name of ['cookie', 'x-auth-token', 'x-access-token', 'proxy-authorization', 'x-api-key'])
    for (const value of [token, `Bearer ${token}`, `token=${token}`, `authorization=Bearer ${token}`])
      test.equal((await get('/localUsers/me', { [name]: value })).status, 401, `in the header ${name}`)
  for (const authorization of [
    token,
    `Bearer${token}`,
    `Bearer  ${token}`,
    `Bearer ${token} `,
    `Bearer\t${token}`,
    ` Bearer ${token}`,
    `Bearer "${token}"`,
    `Bearer ${token},Bearer ${token}`,
    `Bearer ${token}\u0000`,
    `Bearer ${token}.x`,
    `Bearer .${token}`,
    `Basic ${token}`,
    `Basic ${Buffer.from(`${ADMIN.email}:${ADMIN.password}`).toString('base64')}`,
    `Token ${token}`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token.split('.').slice(0, 2).join('.')}`,
    `Bearer ${'.'.repeat(5000)}`,
    `Bearer ${'a'.repeat(1_000_000)}`,
    `Bearer ${base64url({ alg: 'EdDSA' })}.${base64url('['.repeat(100_000))}.x`,
  ])
    test.equal((await get('/localUsers/me', { authorization })).status, 401, authorization.slice(0, 40))
  test.equal(
    (await get('/localUsers/me', { authorization: `bearer ${token}` })).status,
    200,
    'the scheme is case-insensitive',
  )
})
