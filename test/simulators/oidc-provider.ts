import { createHash, createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import type { Ending } from '../fixtures/folder.ts'

export const CLIENT_ID = 'fulcrum at work'
/** With letters that have to be escaped in a form. */
export const CLIENT_SECRET = 'a+secret/of: the provider%'
export const BASE_URL = 'https://lb.example.test:9443'

type Claims = Readonly<Record<string, unknown>>
type Algorithm = 'RS256' | 'PS256' | 'ES256' | 'EdDSA'

interface Key {
  readonly kid: string
  readonly alg: Algorithm
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

function newKey(alg: Algorithm): Key {
  const kid = randomBytes(6).toString('hex')
  if (alg === 'ES256') return { kid, alg, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }
  if (alg === 'EdDSA') return { kid, alg, ...generateKeyPairSync('ed25519') }
  return { kid, alg, ...generateKeyPairSync('rsa', { modulusLength: 2048 }) }
}

function signature({ alg, privateKey: key }: Key, text: string): Buffer {
  const data = Buffer.from(text)
  if (alg === 'EdDSA') return sign(null, data, key)
  if (alg === 'ES256') return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
  return sign('sha256', data, alg === 'PS256' ? { key, padding: 6, saltLength: 32 } : key)
}

/** An OpenID provider for tests, over TLS: it follows the protocol, and its tokens carry any claims. */
export async function oidcProvider(test: Ending, alg: Algorithm = 'ES256') {
  const maker = certificateMaker(test)
  const ca = maker.pair({ name: 'Test CA', isCa: true })
  const own = maker.pair({ name: 'idp.test', issuer: ca, names: 'DNS:localhost,IP:127.0.0.1' })
  const codes = new Map<string, URLSearchParams>()
  /** Requested paths. */
  const asked: string[] = []
  /** Settings that a test changes. */
  const told = {
    key: newKey(alg),
    claims: {} as Claims,
    /** Replaces the correctly signed token. */
    token: undefined as ((claims: Claims, key: Key) => string) | undefined,
    metadata: {} as Claims,
    /** Paths that get no answer; those in `instead` get another one. */
    silent: new Set<string>(),
    instead: new Map<string, string>(),
    redirects: new Map<string, string>(),
    methods: ['client_secret_basic'],
  }
  /** Published keys: another key only once the test says so. */
  const published: Key[] = [told.key]
  const server = createServer({ key: own.key, cert: own.cert }, (request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `https://localhost:${(server.address() as AddressInfo).port}/realms/ours`
  const down = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  test.teardown(down)

  const tokenOf = (claims: Claims, key: Key = told.key) => {
    const said = `${encoded({ alg: key.alg, kid: key.kid, typ: 'JWT' })}.${encoded(claims)}`
    return `${said}.${signature(key, said).toString('base64url')}`
  }

  /** Acts as a browser of a user who has logged in: returns where it is redirected to. */
  const authorize = (location: string): string => {
    const wanted = new URL(location).searchParams
    const code = randomBytes(16).toString('base64url')
    codes.set(code, wanted)
    const back = new URL(wanted.get('redirect_uri') ?? '')
    const answer = { code, state: wanted.get('state') ?? '', iss: issuer, session_state: 'unknown to clients' }
    for (const [name, value] of Object.entries(answer)) back.searchParams.set(name, value)
    return back.href
  }

  function isClient(request: IncomingMessage, form: URLSearchParams): boolean {
    const escaped = (text: string) => new URLSearchParams({ x: text }).toString().slice(2)
    const basic = Buffer.from(`${escaped(CLIENT_ID)}:${escaped(CLIENT_SECRET)}`).toString('base64')
    if (told.methods.includes('client_secret_basic')) return request.headers.authorization === `Basic ${basic}`
    return form.get('client_id') === CLIENT_ID && form.get('client_secret') === CLIENT_SECRET
  }

  function tokens(request: IncomingMessage, form: URLSearchParams): [number, object] {
    const wanted = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    if (!isClient(request, form)) return [401, { error: 'invalid_client' }]
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isRight =
      wanted?.get('code_challenge') === challenge &&
      wanted.get('code_challenge_method') === 'S256' &&
      wanted.get('redirect_uri') === form.get('redirect_uri')
    if (!isRight) return [400, { error: 'invalid_grant' }]
    const now = Math.floor(Date.now() / 1000)
    const standard = { iss: issuer, sub: 'jane', aud: CLIENT_ID, iat: now, exp: now + 300, nonce: wanted.get('nonce') }
    const claims = { ...standard, email: 'jane@example.org', email_verified: true, ...told.claims }
    const id_token = told.token === undefined ? tokenOf(claims) : told.token(claims, told.key)
    return [200, { access_token: 'x', token_type: 'Bearer', expires_in: 300, id_token }]
  }

  function answerOf(path: string, request: IncomingMessage, body: string): [number, object] {
    if (path === '/.well-known/openid-configuration') {
      const endpoints = {
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
      }
      const takes = { token_endpoint_auth_methods_supported: told.methods }
      // Its list of algorithms is not trusted.
      const algorithms = { id_token_signing_alg_values_supported: ['none', 'HS256', 'RS256'] }
      return [200, { issuer, ...endpoints, ...takes, ...algorithms, ...told.metadata }]
    }
    if (path === '/keys') {
      const keys = published.map(({ kid, publicKey }) => ({ kid, use: 'sig', ...publicKey.export({ format: 'jwk' }) }))
      return [200, { keys }]
    }
    return path === '/token' ? tokens(request, new URLSearchParams(body)) : [404, {}]
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const path = (request.url ?? '').replace('/realms/ours', '').replace(/\?.*/, '')
    asked.push(path)
    if (told.silent.has(path)) return
    const elsewhere = path === '/auth' ? authorize(`${issuer}${request.url ?? ''}`) : told.redirects.get(path)
    if (elsewhere !== undefined) return void response.writeHead(302, { location: elsewhere }).end()
    const [status, said] = answerOf(path, request, Buffer.concat(chunks).toString())
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(told.instead.get(path) ?? JSON.stringify(said))
  }

  const rotate = () => {
    told.key = newKey(alg)
    return told.key
  }
  const config = {
    enabled: true,
    enforced: false,
    issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    baseUrl: BASE_URL,
    scopes: ['openid', 'email'],
    emailClaim: 'email',
    caCertificate: ca.cert,
    breakGlassUserId: '',
  }
  return { issuer, config, told, asked, published, authorize, tokenOf, rotate, down, ca: ca.cert }
}

/** Unsigned tokens, and one that is signed with a public value as its secret. */
export const forged = {
  none: (claims: Claims) => `${encoded({ alg: 'none' })}.${encoded(claims)}.`,
  hmac: (claims: Claims, { kid, publicKey }: Key) => {
    const said = `${encoded({ alg: 'HS256', kid })}.${encoded(claims)}`
    const secret = publicKey.export({ type: 'spki', format: 'pem' })
    return `${said}.${createHmac('sha256', secret).update(said).digest('base64url')}`
  },
  /** By another key under the same name. */
  other: (claims: Claims, { kid, alg }: Key) => {
    const key = { ...newKey(alg), kid }
    const said = `${encoded({ alg, kid })}.${encoded(claims)}`
    return `${said}.${signature(key, said).toString('base64url')}`
  },
}
