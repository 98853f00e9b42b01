import { X509Certificate } from 'node:crypto'
import { connect } from 'node:tls'
import t from 'tap'
import { hotp } from '../../../src/auth/totp.ts'
import { createClient, must, type StreamEvent } from '../../../src/client/client.ts'
import { pinnedFetch } from '../../../src/client/node.ts'
import { type Daemon, daemonFixture, PASSWORD } from '../../fixtures/daemon.ts'

/** A real daemon over TLS; test/system/client-package.test.ts covers the types of the whole document. */

interface Answer<T> {
  responses: {
    200: { content: { 'application/json': T } }
    201: { content: { 'application/json': T } }
    422: { content: { 'application/json': { code: string; message: string } } }
  }
}
type Json<T> = Answer<{ status: 'success'; message: string; data: T }>
interface Asked<Query = never, Body = never, Path = never, Header = never> {
  parameters: { query?: Query; header?: Header; path: Path; cookie?: never }
  requestBody?: { content: { 'application/json': Body } }
}
interface Simple<Query = never, Body = never> {
  parameters: { query?: Query; header?: never; path?: never; cookie?: never }
  requestBody?: { content: { 'application/json': Body } }
}
interface Real {
  id: string
  name: string
  ip: string
  weight: number
}
type Edit = Partial<Omit<Real, 'id'>> & { port?: number }
/** As a generator writes them. */
interface Paths {
  '/ipvsDirector/rips': {
    get: Simple<{ limit?: number; after?: string }> & Answer<{ data: Real[]; next?: string }>
    post: Simple<never, Edit> & Json<{ id: string }>
  }
  '/ipvsDirector/rips/{id}': {
    get: Asked<never, never, { id: string }> & Json<Real>
    put: Asked<never, Edit, { id: string }, { 'If-Match'?: string }> & Json<[]>
  }
  '/services/apply': { put: Simple<never, { comment?: string }> & Json<{ revision: number }> }
  '/localUsers/me': { get: Simple & Json<{ email: string }> }
  '/localUsers/me/tokens': { post: Simple<never, { name: string }> & Json<{ token: string }> }
  '/localUsers/me/2fa': {
    post: Simple<never, { password: string }> & Json<{ secret: string }>
  }
  '/localUsers/me/2fa/confirm': { post: Simple<never, { code: string }> & Json<{ recoveryCodes: string[] }> }
  '/localUsers/me/sessions': { get: Simple & Json<{ id: string }[]> }
  '/jobs': { get: Simple & Json<{ id: string }[]> }
  '/events': {
    get: Simple<{ after?: number; kinds?: string }> & {
      responses: { 200: { content: { 'text/event-stream': string } } }
    }
  }
}

const ADMIN = { email: 'admin@localhost', password: PASSWORD }

function fingerprintOf(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(new X509Certificate(socket.getPeerCertificate().raw).fingerprint256)
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

/** A client whose requests go to the daemon's current port, which changes with each start. */
async function clientsOf(daemon: Daemon) {
  const pinned = pinnedFetch(await fingerprintOf(daemon.port))
  const fetch = (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    return pinned(new Request(`https://127.0.0.1:${daemon.port}${pathname}${search}`, request))
  }
  return (more: object = {}) => createClient<Paths>({ url: 'https://appliance.test', fetch, ...more })
}

t.test('a list is requested in pages, of another size on request', async (test) => {
  const asked: string[] = []
  const fetch = async ({ url }: Request) => {
    asked.push(new URL(url).search)
    return Response.json({ status: 'success', message: 'm', data: [], ...(asked.length === 1 ? { next: 'n' } : {}) })
  }
  const api = createClient<Paths>({ url: 'https://appliance.test', token: 'x', fetch })
  for await (const one of api.each('/ipvsDirector/rips')) test.fail('there is none', { one })
  for await (const one of api.each('/ipvsDirector/rips', { params: { query: { limit: 2 } } }))
    test.fail('none', { one })
  test.same(asked, ['?limit=1000', '?limit=1000&after=n', '?limit=2'])
})

t.test('a login, a list in pages, a staged change that goes live, and a refusal', async (test) => {
  const daemon = await daemonFixture(test)
  const client = await clientsOf(daemon)
  const api = client()
  await test.rejects(api.logIn({ ...ADMIN, password: 'wrong' }), { code: 'INVALID_CREDENTIALS', status: 401 })
  test.match(await api.logIn(ADMIN), { user: { email: ADMIN.email }, appliance_id: daemon.node })
  test.equal(must(await api.GET('/localUsers/me')).data.email, ADMIN.email)

  for (const name of ['web1', 'web2', 'web3', 'web4', 'web5']) {
    must(await api.POST('/ipvsDirector/rips', { body: { name, ip: '192.0.2.1', port: 80 } }))
  }
  const names: string[] = []
  for await (const real of api.each('/ipvsDirector/rips', { params: { query: { limit: 2 } } })) names.push(real.name)
  test.same(names.toSorted(), ['web1', 'web2', 'web3', 'web4', 'web5'])
  for await (const { id } of api.each('/ipvsDirector/rips')) {
    const path = { id }
    const { data, response } = await api.GET('/ipvsDirector/rips/{id}', { params: { path } })
    test.equal(data?.data.weight, 100)
    const header = { 'If-Match': response.headers.get('ETag') ?? '' }
    must(await api.PUT('/ipvsDirector/rips/{id}', { params: { path, header }, body: { port: 80, weight: 50 } }))
    const late = await api.PUT('/ipvsDirector/rips/{id}', { params: { path, header }, body: { port: 80, weight: 60 } })
    test.match(late, { response: { status: 412 }, error: { code: 'REVISION_MISMATCH' } })
    test.throws(() => must(late), { code: 'REVISION_MISMATCH', status: 412 })
    break
  }
  const wrong = await api.POST('/ipvsDirector/rips', {
    body: { name: 'web6', ip: '192.0.2.1', port: 70_000, weight: 999 },
  })
  test.throws(() => must(wrong), { code: 'INVALID_BODY', errors: [{ field: 'port' }, { field: 'weight' }] })
  test.equal(must(await api.PUT('/services/apply', { body: { comment: 'client' } })).data.revision > 0, true)

  const { token } = must(await api.POST('/localUsers/me/tokens', { body: { name: 'ci' } })).data
  const program = client({ token })
  test.equal(must(await program.GET('/ipvsDirector/rips')).data.length, 5)
  test.equal(program.token, token)

  // A token that is renewed with each request is another one, of the same session.
  const short = client({ renewBefore_s: 7200 })
  await short.logIn(ADMIN)
  const first = short.token
  const before = must(await short.GET('/localUsers/me/sessions')).data.length
  await new Promise((resolve) => setTimeout(resolve, 1001))
  test.equal(must(await short.GET('/localUsers/me/sessions')).data.length, before)
  test.not(short.token, first)
  await short.logOut()
  test.equal(short.token, undefined)
  test.match(await short.GET('/localUsers/me'), { error: { code: 'UNAUTHENTICATED' } })

  const { secret } = must(await api.POST('/localUsers/me/2fa', { body: { password: PASSWORD } })).data
  const code = () => hotp(secret, Math.floor(Date.now() / 30_000))
  must(await api.POST('/localUsers/me/2fa/confirm', { body: { code: code() } }))
  await test.rejects(client().logIn(ADMIN), { code: 'TWO_FACTOR_REQUIRED' })
  let asked = 0
  const next = () => {
    asked += 1
    // Each code is valid once: the next one is used a little early.
    return hotp(secret, Math.floor(Date.now() / 30_000) + 1)
  }
  const again = client({ credentials: () => ({ ...ADMIN, code: next }) })
  test.equal(must(await again.GET('/localUsers/me')).data.email, ADMIN.email)
  test.equal(asked, 1)
})

t.test('a stream continues over kill -9 and a restart, without a gap and without an event twice', async (test) => {
  const daemon = await daemonFixture(test)
  const client = await clientsOf(daemon)
  const api = client({ credentials: () => ADMIN })
  const ending = new AbortController()
  const events: StreamEvent[] = []
  const apply = async (name: string) => {
    must(await api.POST('/ipvsDirector/rips', { body: { name, ip: '192.0.2.1', port: 80 } }))
    must(await api.PUT('/services/apply', { body: { comment: name } }))
  }
  await apply('first')
  let isKilled = false
  for await (const event of api.events('/events', ending.signal, { params: { query: { after: 0, kinds: 'apply' } } })) {
    events.push(event)
    if (!isKilled) {
      isKilled = true
      await apply('before')
      await daemon.kill('SIGKILL')
      await daemon.start()
      await apply('after')
    }
    if (events.length === 3) ending.abort()
  }
  const ids = events.map(({ id }) => Number(id))
  test.same(
    ids,
    [...new Set(ids)].toSorted((a, b) => a - b),
    JSON.stringify(events),
  )
  test.ok(events.every(({ event }) => event === 'apply'))
  test.equal(events.length, 3)
  test.equal(new Set(events.map(({ data }) => JSON.stringify(data))).size, 3)
})
