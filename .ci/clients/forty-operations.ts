// A program as a user would write it for our own client. `.ci/clients.mjs` packs and installs that client, and compiles
// this program against it; test/system/client-package.test.ts also runs it:
// `node forty-operations.ts URL FINGERPRINT PASSWORD`. At the end it prints the number of requests it has made.
import { createFulcrum, must, Refused, type Shapes } from '@fulcrum/client'
import { pinnedFetch } from '@fulcrum/client/node'

const [url = '', fingerprint = '', password = ''] = process.argv.slice(2)
const pinned = pinnedFetch(fingerprint)
let asked = 0
const api = createFulcrum({
  url,
  fetch: (request) => {
    asked += 1
    return pinned(request)
  },
})

/** Uses the named shapes as parameter and return types. */
const isUp = (real: Shapes['RealServer']): boolean => real.state === 'online' && real.health === 'up'
const addressOf = ({ ip }: Shapes['L4Frontend']): string => ip.toLowerCase()
const web = (name: string, ip: string): Shapes['RealServerInput'] => ({ name, ip, port: 80 })
const heavier: Shapes['RealServerChange'] = { port: 80, weight: 200 }
const noSecrets: Shapes['RuleInput'] = {
  name: 'no secrets',
  when: { any: [{ type: 'path', match: 'begins', values: ['/.git', '/.env'] }] },
  do: { type: 'deny', status: 404 },
}
const check: Shapes['HealthCheckSettingInput'] = { type: 'http', path: '/health', expect: '200' }

async function logIn(email: string): Promise<string> {
  must(await api.GET('/ping'))
  must(await api.POST('/login/options', { body: { email } }))
  await api.logIn({ email, password })
  must(await api.GET('/token'))
  const { data } = must(await api.POST('/token', { body: { email, password } }))
  const session: Shapes['OpenedSession'] = data
  return session.appliance_id
}

async function editRealServers(): Promise<string> {
  const { data: reals, next } = must(
    await api.GET('/ipvsDirector/rips', { params: { query: { limit: 50, q: 'web' } } }),
  )
  if (next !== null && next !== undefined) await api.GET('/ipvsDirector/rips', { params: { query: { after: next } } })
  for await (const { name, ip } of api.each('/ipvsDirector/rips', { params: { query: { limit: 1 } } })) {
    if (name.toUpperCase() === ip) return name
  }
  const down = reals.filter((real) => !isUp(real)).map(({ id }) => id)
  const made = must(await api.POST('/ipvsDirector/rips', { body: web('web1', '192.0.2.1') }))
  const { id } = made.data
  must(await api.POST('/ipvsDirector/rips', { body: web('web2', '192.0.2.2') }))
  const read = await api.GET('/ipvsDirector/rips/{id}', { params: { path: { id } } })
  const tag = read.response.headers.get('ETag') ?? ''
  must(
    await api.PUT('/ipvsDirector/rips/{id}', {
      params: { path: { id }, header: { 'If-Match': tag } },
      body: heavier,
    }),
  )
  for (const one of down) must(await api.PUT('/ipvsDirector/rips/{id}/halt', { params: { path: { id: one } } }))
  must(await api.PUT('/ipvsDirector/rips/{id}/drain', { params: { path: { id } } }))
  must(await api.PUT('/ipvsDirector/rips/{id}/online', { params: { path: { id } } }))
  return id
}

async function editLayer7(ripId: string): Promise<string> {
  const { data: backend } = must(
    await api.POST('/layer7proxy/backends', {
      params: { query: { return: 'record' } },
      body: { name: 'be', mode: 'http', reals: [{ ripId }, { ripId: { name: 'web2' } }], healthCheck: check },
    }),
  )
  const { data: frontend } = must(
    await api.POST('/layer7proxy/frontends', {
      body: {
        name: 'fe',
        mode: 'http',
        ip: '192.0.2.80',
        ports: '80,443',
        defaultBackendId: backend.id,
        rules: [noSecrets],
      },
    }),
  )
  const path = { id: frontend.id }
  const { data: stored } = must(await api.GET('/layer7proxy/frontends/{id}', { params: { path } }))
  const rules: readonly Shapes['Rule'][] = stored.rules ?? []
  must(
    await api.PUT('/layer7proxy/frontends/{id}', {
      params: { path },
      body: { rules: [...rules, { do: { type: 'removeHeader', name: 'Server' } }], hsts: 3600 },
    }),
  )
  must(await api.GET('/layer7proxy/frontends'))
  must(await api.GET('/layer7proxy/backends'))
  must(await api.GET('/layer7proxy/backends/{id}', { params: { path: { id: backend.id } } }))
  must(await api.DELETE('/layer7proxy/frontends/{id}', { params: { path } }))
  return backend.id
}

async function editLayer4(ripId: string): Promise<void> {
  const { data: backend } = must(
    await api.POST('/ipvsDirector/backends', { body: { name: 'dns', reals: [{ ripId }] } }),
  )
  must(
    await api.POST('/ipvsDirector/frontends', {
      body: { name: 'dns', ip: '192.0.2.53', ports: '53', protocol: 'udp', forwarding: 'masq', backendId: backend.id },
    }),
  )
  const { data: dns } = must(await api.GET('/ipvsDirector/frontends'))
  console.log(`addresses ${dns.map(addressOf).join()}`)
  must(await api.GET('/ipvsDirector/backends'))
}

/** Applies the pending changes. The data of the answer is an object or an empty list, and is checked for that. */
async function apply(): Promise<number | undefined> {
  const { data: review } = must(await api.GET('/services/pending', { params: { query: { render: 'true' } } }))
  const changes: readonly Shapes['Change'][] = review.changes
  if (changes.length === 0) return undefined
  must(await api.POST('/services/validate'))
  const { data } = must(await api.PUT('/services/apply', { body: { comment: 'from the client', confirmWithin: 60 } }))
  if (data === undefined || Array.isArray(data)) return undefined
  const { warnings, revision }: Shapes['Applied'] = data
  for (const { code, message } of warnings satisfies readonly Shapes['Warning'][]) console.log(code, message)
  must(await api.PUT('/services/apply/confirm'))
  must(await api.GET('/services/apply'))
  return revision
}

async function watch(applianceId: string, id: string): Promise<readonly (number | null)[]> {
  const { data: figures } = must(
    await api.GET('/{applianceId}/layer7proxy/stats', { params: { path: { applianceId } } }),
  )
  const sessions: readonly (number | null)[] = figures.backends.map(({ currentSessions }) => currentSessions)
  // The same path returns CSV on request.
  const history = must(
    await api.GET('/{applianceId}/layer7proxy/stats/backends/{id}/history', {
      params: { path: { applianceId, id }, query: { start: 1_790_000_000, end: 1_790_000_060 } },
    }),
  )
  must(await api.GET('/{applianceId}/layer7proxy/stats/frontends', { params: { path: { applianceId } } }))
  must(await api.GET('/ipvsDirector/stats'))
  return [...sessions, ...(typeof history === 'string' ? [] : (history.data.series.bytesIn ?? []))]
}

async function readTheRest(): Promise<void> {
  const { error } = await api.GET('/jobs/{id}', { params: { path: { id: 'none' } } })
  if (error?.code !== 'NOT_FOUND') throw new Error(error?.message)
  const transaction = must(await api.POST('/transactions')).data
  const header = { 'X-Transaction-Id': transaction.id }
  must(await api.POST('/rbac/groups', { params: { header }, body: { id: 'ops', name: 'Ops' } }))
  const inTransaction = { params: { path: { id: transaction.id } } }
  must(await api.PUT('/transactions/{id}/commit', inTransaction))
  const { data: jobs }: { data: readonly Shapes['JobListed'][] } = must(await api.GET('/jobs'))
  if (jobs.some(({ state }) => state === 'failed')) throw new Error('a job has failed')
  must(await api.GET('/certificates/certs'))
  must(await api.GET('/localUsers/users'))
  must(await api.GET('/rbac/roles'))
  must(await api.GET('/revisions', { params: { query: { limit: 10 } } }))
  must(await api.GET('/audit', { params: { query: { limit: 10 } } }))
  must(await api.GET('/services'))
  must(await api.GET('/backup/list'))
}

/** Follows events until that of the apply arrives. */
async function follow(): Promise<void> {
  const ending = new AbortController()
  for await (const { event } of api.events('/events', ending.signal, { params: { query: { after: 0 } } })) {
    if (event === 'apply') ending.abort()
  }
}

/** Checks that a refusal names the wrong field. */
async function refusal(): Promise<void> {
  try {
    must(await api.POST('/ipvsDirector/rips', { body: { ...web('web9', '192.0.2.9'), weight: 1000 } }))
  } catch (error) {
    if (error instanceof Refused && error.code === 'INVALID_BODY' && error.about('weight') !== undefined) return
    throw error
  }
  throw new Error('a weight of 1000 was taken')
}

const node = await logIn('admin@localhost')
const real = await editRealServers()
const backend = await editLayer7(real)
await editLayer4(real)
console.log(`revision ${await apply()}`)
console.log(`figures ${(await watch(node, backend)).length}`)
await readTheRest()
await follow()
await refusal()
await api.logOut()
console.log(`asked ${asked}`)
