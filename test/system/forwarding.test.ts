import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { endpointId } from '../../src/api/access.ts'
import { Sessions } from '../../src/auth/sessions.ts'
import { Tokens } from '../../src/auth/token.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Editing } from '../../src/config/editing.ts'
import { endpoints } from '../../src/resources/index.ts'
import { LmdbConfigStore } from '../../storage/config/lmdb-config-store.ts'
import { caller } from '../fixtures/appliance.ts'
import { type Ending, temporaryFolder } from '../fixtures/folder.ts'
import { promoteIn } from '../fixtures/entries.ts'
import { reaching } from '../fixtures/forwarding.ts'
import { TestCluster } from '../fixtures/peers.ts'
import { ownAppliance } from '../fixtures/shared-appliance.ts'
import { freePort } from '../fixtures/traffic.ts'
import { packed } from './apt-repository.ts'

const ANN = 'ann'
const AT = '2026-01-02T03:04:05.000Z'

interface Born {
  readonly nodeId: string
  /** Rights of `ann` on that node. */
  readonly granted: readonly string[]
}

/** Gives the node its id, and `ann` her rights there; returns a token of hers. */
async function bear(state: string, { nodeId, granted }: Born): Promise<string> {
  const store = new LmdbConfigStore(join(state, 'config'))
  await store.putMeta('nodeId', nodeId)
  const names = { email: 'ann@localhost', firstName: 'A', lastName: 'B' }
  const ids = endpoints.filter(({ name }) => granted.includes(name)).map((one) => endpointId(one))
  await new Editing(store).edit({ actor: 'tester', endpoint: 'test', at: AT }, undefined, (draft) => {
    draft.section('roles').create({ id: 'role', name: 'role', builtin: false, endpoints: ids })
    const user = { id: ANN, ...names, disabled: false, passwordHash: 'none', groups: [], roles: ['role'] }
    draft.section('users').create(user)
  })
  const revision = store.revision + 1
  await promoteIn(store, store.changes(), { applyId: 'born', revision, by: 'tester', at: AT, comment: '' })
  const sessions = new Sessions(store.sessions, store.owed, new Tokens(join(state, 'token-key.pem')), systemClock)
  const { token } = await sessions.create(ANN, { via: 'password', address: '192.0.2.1' })
  await store.close()
  return token
}

/** Two nodes with the same users, as in a cluster, and their own stores. Requests go to `lb1`. */
async function site(test: Ending, { here = [] as readonly string[], there = [] as readonly string[] } = {}) {
  const cluster = await TestCluster.make()
  const far = await ownAppliance(test, {
    prepare: async (state) => void (await bear(state, { nodeId: 'lb2', granted: there })),
  })
  const server = await cluster.serve(test, (request) => far.appliance.handleForwarded(request))
  const client = cluster.client(test, server.port)
  const port = await freePort()
  let token = ''
  const near = await ownAppliance(test, {
    prepare: async (state) => void (token = await bear(state, { nodeId: 'lb1', granted: here })),
    more: { http: { host: '127.0.0.1', port } },
    nodes: reaching(client, 'lb2'),
  })
  const ann = caller(near.appliance, token)
  return { near, far, ann, client, url: `http://127.0.0.1:${port}/api/v1` }
}

/** A setting of its machine, so that the node itself answers. */
const PROXY = { enable: false, bypass: ['example.net'] }

t.test('a right is needed for every path that names a node, so that both nodes check it', async (test) => {
  const ofNodes = endpoints.filter(({ path }) => /\{applianceI[dD]\}/.test(path))
  test.ok(ofNodes.length > 20)
  test.same(
    ofNodes.filter(({ access }) => access !== 'granted').map(({ name }) => name),
    [],
  )
})

t.test('edits and reads are carried out by the node in the path, with its ETags', async (test) => {
  const { near, far } = await site(test)
  const path = '/lb2/system/proxy'
  const made = await near.call('PUT', path, { body: PROXY })
  test.equal(made.status, 200, made.text)
  const read = await near.call('GET', path)
  test.match(read.json.data, PROXY)
  test.equal((await far.call('GET', path)).text, read.text)
  test.same((await near.call('GET', '/services/pending')).json.data.changes, [], 'nothing is staged here')
  const stale = await near.call('PUT', path, { body: PROXY, headers: { 'if-match': '"0"' } })
  test.match([stale.status, stale.json.code], [412, 'REVISION_MISMATCH'])
  const body = { ...PROXY, bypass: ['example.org'] }
  const changed = await near.call('PUT', path, { body, headers: { 'if-match': read.headers['ETag'] ?? '' } })
  test.equal(changed.status, 200, changed.text)
  test.match((await far.call('GET', path)).json.data, body)
  const applied = await near.call('PUT', '/lb2/services/apply')
  test.equal(applied.status, 200, applied.text)
  test.same((await far.call('GET', '/services/pending')).json.data.changes, [])
  const gone = await near.call('PUT', '/lb2/services/unknown/restart')
  test.match([gone.status, gone.json.code], [404, 'NOT_FOUND'])
})

t.test('both audit logs have their part under one id', async (test) => {
  const { near, far } = await site(test)
  await near.call('PUT', '/lb2/system/proxy', { body: PROXY, address: '192.0.2.77' })
  await near.call('PUT', '/lb2/services/nothing/restart', { address: '192.0.2.77' })
  const entries = async ({ call }: typeof near) => (await call('GET', '/audit?address=192.0.2.77')).json.data
  const [refused, made] = await entries(near)
  const common = { by: 'admin@localhost', address: '192.0.2.77', method: 'PUT', path: '/api/v1/lb2/system/proxy' }
  test.match(made, { ...common, endpoint: 'systemProxy.update', forwardedTo: 'lb2', outcome: 'done', status: 200 })
  test.notOk('changes' in made || 'body' in made, 'the change is recorded where it was made')
  test.match(refused, { forwardedTo: 'lb2', outcome: 'refused', status: 404, code: 'NOT_FOUND' })
  const there = await entries(far)
  const told = there.find(({ requestId }: { readonly requestId: string }) => requestId === made.requestId)
  test.match(told, {
    ...common,
    forwardedBy: 'lb1',
    outcome: 'done',
    status: 200,
    changes: [{ resource: 'systemProxies' }],
  })
  test.notOk('forwardedTo' in told)
})

t.test('either node refuses what its own running configuration does not grant', async (test) => {
  const { ann, far } = await site(test, {
    here: ['systemProxy.get', 'systemProxy.update'],
    there: ['systemProxy.get', 'interfaces.list'],
  })
  test.equal((await ann('GET', '/lb2/system/proxy')).status, 200)
  for (const [method, path, by] of [
    ['PUT', '/lb2/system/proxy', ['lb1']],
    ['GET', '/lb2/interfaces', undefined],
  ] as const) {
    const answer = await ann(method, path, method === 'PUT' ? { body: PROXY } : {})
    test.match([answer.status, answer.json.code], [403, 'PERMISSION_DENIED'], path)
    const { json } = await far.call('GET', '/audit?by=ann@localhost&outcome=refused')
    const seen = json.data.filter((entry: { readonly path: string }) => entry.path === `/api/v1${path}`)
    test.same(
      seen.map(({ forwardedBy }: { readonly forwardedBy: string }) => forwardedBy),
      by ?? [],
      'and a request refused here is not forwarded',
    )
  }
})

t.test('a program with an API token has no more rights there than its token', async (test) => {
  const { near, far } = await site(test)
  const limits = endpoints.filter(({ name }) => name === 'systemProxy.get').map((one) => endpointId(one))
  const made = await near.call('POST', '/localUsers/me/tokens', { body: { name: 'reader', endpoints: limits } })
  const program = caller(near.appliance, made.json.data.token)
  test.equal((await program('GET', '/lb2/system/proxy')).status, 200)
  test.equal((await program('GET', '/lb2/interfaces')).status, 403)
  const whole = await near.call('POST', '/localUsers/me/tokens', { body: { name: 'all' } })
  const all = caller(near.appliance, whole.json.data.token)
  const changed = await all('PUT', '/lb2/system/proxy', { body: PROXY })
  test.equal(changed.status, 200, changed.text)
  const { json } = await far.call('GET', '/audit?endpoint=systemProxy.update')
  test.match(json.data, [{ token: whole.json.data.id, forwardedBy: 'lb1' }])
})

t.test('a package goes to the machine that it is for', async (test) => {
  const { near, far } = await site(test)
  const folder = temporaryFolder(test, 'package')
  const noise = randomBytes(1024 * 1024).toString('base64')
  const file = await packed(folder, { name: 'large', version: '1', conffiles: { '/etc/large': noise } })
  const packages = readFileSync(file).toString('base64')
  const { status, text } = await near.call('POST', '/lb2/system/update', { body: { packages } })
  test.equal(status, 200, text)
  test.equal(readdirSync(join(far.state, 'packages')).length, 1)
  test.notOk(existsSync(join(near.state, 'packages')))
})

t.test('a connection that has forwarded a body can be used for the next request', async (test) => {
  const { near, url } = await site(test)
  await near.appliance.listen()
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  test.teardown(() => agent.destroy())
  const ports = new Set<number | undefined>()
  const headers = { authorization: `Bearer ${near.token}`, 'content-type': 'application/json' }
  const apply = (body: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = { 'content-length': Buffer.byteLength(body) }
      const asked = http.request(`${url}/lb2/services/apply`, {
        method: 'PUT',
        agent,
        headers: { ...headers, ...sent },
      })
      asked.on('response', (answer) => {
        ports.add(answer.socket.localPort)
        answer.resume().on('end', () => resolve(answer.statusCode))
      })
      asked.on('error', reject).end(body)
    })
  // The long body is read more slowly than it arrives.
  for (const comment of ['short', 'x'.repeat(1_000), 'x'.repeat(700_000), 'short', 1, 'short']) {
    const isGood = String(comment).length <= 1_000 && typeof comment === 'string'
    test.equal(await apply(JSON.stringify({ comment })), isGood ? 200 : 422, String(comment).slice(0, 10))
  }
  test.equal(ports.size, 1, 'one connection')
})

t.test('a long history arrives whole, and is not sent again to a client that has it', async (test) => {
  const { near, far, url } = await site(test)
  await near.appliance.listen()
  const settings = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: '8080' }
  const backend = await far.call('POST', '/layer7proxy/backends', { body: { name: 'be', mode: 'http', reals: [] } })
  const body = { ...settings, defaultBackendId: backend.json.data.id }
  const { id } = (await far.call('POST', '/layer7proxy/frontends', { body })).json.data
  test.equal((await far.call('PUT', '/services/apply')).status, 200)
  const end = Math.floor(Date.now() / 1000) - 1000
  const path = `/lb2/layer7proxy/stats/frontends/${id}/history?start=${end - 3600}&end=${end}&resolution=1`
  const here = await far.call('GET', path)
  test.equal(here.status, 200, here.text.slice(0, 500))
  const ask = (more: Readonly<Record<string, string>>) =>
    fetch(`${url}${path}`, { headers: { authorization: `Bearer ${near.token}`, ...more } })
  const answer = await ask({ 'accept-encoding': 'identity' })
  test.equal(await answer.text(), here.text)
  const etag = answer.headers.get('etag') ?? ''
  test.equal(etag, here.headers['ETag'])
  test.equal((await ask({ 'accept-encoding': 'identity', 'if-none-match': etag })).status, 304)
  const gzip = await ask({ 'accept-encoding': 'gzip' })
  test.same([gzip.headers.get('content-encoding'), await gzip.text()], ['gzip', here.text])
})

t.test('a node that is gone is reported as such, and its request was not carried out', async (test) => {
  const { near, client } = await site(test)
  client.close()
  const answer = await near.call('GET', '/lb2/system/proxy')
  test.match([answer.status, answer.json], [503, { code: 'NODE_UNREACHABLE', data: { nodeId: 'lb2' } }])
  test.equal((await near.call('GET', '/lb1/system/proxy')).status, 200)
  test.equal((await near.call('GET', '/lb3/system/proxy')).status, 404)
  test.equal((await near.call('GET', '/lb2/routes')).status, 200, 'its configuration can be read')
})
