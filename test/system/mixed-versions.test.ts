import t, { type Test } from 'tap'
import { type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { PASSWORD } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { sourcesBefore } from '../fixtures/earlier-version.ts'
import { oidcProvider } from '../simulators/oidc-provider.ts'

/**
 * A cluster in the middle of an update: a node from before rights for some records beside a current one. Needs the
 * history of the sources.
 */
const RIPS = '/ipvsDirector/rips'

/** Before rights for some records, and before groups of OpenID Connect. */
const [beforeAreas, beforeGroups] = ['46b8a89', 'd23c419'].map((commit) => sourcesBefore(t, commit))
const withHistory = (sources: string | undefined) => ({
  skip: sources === undefined ? 'needs the history of the sources' : false,
})

const ann = { email: 'ann@corp.example', firstname: 'Ann', lastname: 'Lee', password: PASSWORD, disabled: 'false' }

/** Revision that runs on a node. */
const revisionAt = async ({ daemon }: ClusterDaemon): Promise<number> =>
  (await daemon.data('GET', '/services/apply').catch(() => ({}))).revision ?? 0

/** Returns a current node and one of these sources, in one cluster; undefined where that is impossible. */
async function pair(test: Test, sources: string | undefined) {
  const daemons = await ClusterDaemons.begin(test)
  if (typeof daemons === 'string') {
    test.pass(`# SKIP ${daemons}`)
    return undefined
  }
  const fresh = await daemons.start()
  const older = await daemons.start([], { sources: sources ?? '', isMeasured: true })
  // As in an update: the cluster has the older version until its last node is current.
  await form(older, 'older')
  await older.daemon.login()
  const joined = await join(fresh, 'fresh', older)
  test.equal(joined.status, 200, joined.text)
  return { fresh, older, daemons }
}

interface Shown {
  readonly nodes: readonly { readonly state: string }[]
}

/** A restarted node has a majority again. */
const joinedAgain = ({ daemon }: ClusterDaemon) =>
  until(
    'the cluster is there',
    () => daemon.data('GET', '/cluster'),
    ({ nodes }: Shown) => nodes.every(({ state }) => state === 'online'),
  )

t.test('an older node grants nothing for a right to some records', withHistory(beforeAreas), async (test) => {
  const both = await pair(test, beforeAreas)
  if (both === undefined) return
  const { fresh, older } = both
  const made = async (path: string, body: object) => (await fresh.daemon.data('POST', path, body)).id as string
  const role = await made('/rbac/roles', {
    name: 'shop',
    users: [],
    groups: [],
    endpoints: [
      { path: RIPS, methods: ['GET', 'POST'], where: { names: ['shop-*'] } },
      { path: `${RIPS}/{id}`, methods: ['GET', 'PUT', 'DELETE'], where: { names: ['shop-*'] } },
      { path: '/services/apply', methods: ['PUT'] },
    ],
  })
  await made('/localUsers/users', { ...ann, roles: [role] })
  const [shop, bank] = [
    await made(RIPS, { name: 'shop-1', ip: '192.0.2.1', port: 80 }),
    await made(RIPS, { name: 'bank-1', ip: '192.0.2.2', port: 80 }),
  ]
  await fresh.daemon.data('PUT', '/services/apply')
  const revision = await revisionAt(fresh)
  await until(
    'the older node has it',
    () => revisionAt(older),
    (seen) => seen === revision,
  )

  const tokens = new Map<ClusterDaemon, string>()
  for (const node of [fresh, older]) {
    const answer = await node.daemon.call('POST', '/token', {
      body: { email: ann.email, password: PASSWORD },
      token: '',
    })
    test.equal(answer.status, 200, answer.text)
    tokens.set(node, String(answer.json.data.token))
  }
  const asAnn = (node: ClusterDaemon, method: string, path: string, body?: object) =>
    node.daemon.call(method, path, { token: tokens.get(node) ?? '', ...(body && { body }) })
  test.same(
    (await asAnn(fresh, 'GET', RIPS)).json.data.map(({ name }: { readonly name: string }) => name),
    ['shop-1'],
  )
  for (const [method, path, body] of [
    ['GET', RIPS],
    ['POST', RIPS, { name: 'shop-2', ip: '192.0.2.3', port: 80 }],
    ['GET', `${RIPS}/${bank}`],
    ['PUT', `${RIPS}/${bank}`, { port: 82 }],
    ['PUT', `${RIPS}/${shop}`, { port: 82 }],
    ['DELETE', `${RIPS}/${bank}`],
  ] as const) {
    const answer = await asAnn(older, method, path, body)
    test.match([answer.status, answer.json.code], [403, 'PERMISSION_DENIED'], `${method} ${path}: ${answer.text}`)
  }
  // Her permitted edits on one node do not go live through the other.
  test.equal((await asAnn(fresh, 'PUT', `${RIPS}/${shop}`, { port: 81 })).status, 200)
  await until(
    'it is staged there as well',
    () => older.daemon.data('GET', '/services/pending'),
    ({ count }) => count === 1,
  )
  const applied = await asAnn(older, 'PUT', '/services/apply')
  test.match([applied.status, applied.json.code], [403, 'PERMISSION_DENIED'], applied.text)

  // It cannot store a record with unknown fields, so it refuses: the areas of a role are not lost.
  const changed = await older.daemon.call('PUT', `/rbac/roles/${role}`, { body: { name: 'shop of old' } })
  test.match([changed.status, changed.json.code], [500, 'INTERNAL'], changed.text)
  await older.daemon.kill('SIGTERM')
  await older.daemon.start()
  await older.daemon.login()
  for (const node of [fresh, older]) await joinedAgain(node)
  test.equal((await asAnn(older, 'GET', RIPS)).status, 403, 'nor does it grant more after a start')
  test.match(await fresh.daemon.data('GET', `/rbac/roles/${role}`), { name: 'shop', endpoints: { length: 3 } })
  test.equal((await asAnn(fresh, 'PUT', `${RIPS}/${bank}`, { port: 82 })).status, 404)
  test.equal((await asAnn(fresh, 'PUT', '/services/apply', { mine: true })).status, 200)
  const last = await revisionAt(fresh)
  await until(
    'the older node goes on',
    () => revisionAt(older),
    (seen) => seen === last,
  )
})

t.test('a user without a record is admitted once the last node is current', withHistory(beforeGroups), async (test) => {
  const both = await pair(test, beforeGroups)
  if (both === undefined) return
  const { fresh, older, daemons } = both
  const provider = await oidcProvider(test)
  const roles = [(await fresh.daemon.data('GET', '/rbac/roles?name=Operator'))[0].id]
  const groups = { groupsClaim: 'groups', groupMappings: [{ group: '/operators', roles }] }
  const baseUrl = `https://127.0.0.1:${fresh.daemon.port}`
  await fresh.daemon.data('PUT', '/oidc/config', { ...provider.config, ...groups, baseUrl })
  await fresh.daemon.data('PUT', '/services/apply')
  provider.told.claims = { email: ann.email, groups: ['/operators'] }
  const logIn = async () => {
    const begun = await fresh.daemon.call('GET', '/oidc/login', { token: '' })
    const cookie = String(begun.headers['set-cookie']).split(';')[0] ?? ''
    const back = new URL(provider.authorize(begun.headers['location'] ?? '')).search
    const page = await fresh.daemon.call('GET', `/oidc/callback${back}`, { headers: { cookie }, token: '' })
    const code = /<code id="code">([^<]+)</.exec(page.text)?.[1] ?? ''
    return fresh.daemon.call('POST', '/oidc/token', { body: { code }, token: '' })
  }
  // The older node would treat the session as unknown, and at its start drop it from its own store alone.
  const refused = await logIn()
  test.match([refused.status, refused.json.code], [501, 'NOT_SUPPORTED'], refused.text)
  await older.daemon.kill('SIGTERM')
  const updated = await daemons.again(older, older.address)
  const opened = await until('the last node has told of its version', logIn, ({ status }) => status !== 501)
  test.equal(opened.status, 200, opened.text)
  const { token } = opened.json.data
  const statusAt = async ({ daemon }: ClusterDaemon) => (await daemon.call('GET', RIPS, { token })).status
  test.equal(await statusAt(fresh), 200)
  await until(
    'the other node has the session',
    () => statusAt(updated),
    (status) => status === 200,
  )
})
