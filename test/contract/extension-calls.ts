import { join } from 'node:path'
import type { Test } from 'tap'
import { hotp } from '../../src/auth/totp.ts'
import { LogStore } from '../../storage/logs/store.ts'
import { applianceFixture, type Caller, caller, stillFacts } from '../fixtures/appliance.ts'
import { logRow } from '../fixtures/log-rows.ts'

/** Calls of operations without a record: requests and answers become their examples. */

const PASSWORD = 'a-password'
const LIMITS = { bytes_max: 1_000_000, age_ms: 1_000_000_000_000_000 }
const TRACKING = {
  synchronised: true,
  reference: 'ntp.example.test',
  stratum: 3,
  offset_s: -0.25,
  servers: [{ name: 'pool.example.test', state: 'selected', reachable: true }],
} as const
const SITE = {
  version: 1,
  owner: 'shop',
  realServers: { 'basket-1': { ip: '192.0.2.21', port: 8080 } },
  l7Backends: { basket: { mode: 'http', reals: [{ ripId: 'basket-1' }] } },
  l7Frontends: { basket: { mode: 'http', ip: '127.0.0.1', ports: '8090', defaultBackendId: 'basket' } },
}
const HAPROXY_CFG = `frontend shop
  bind 192.0.2.10:80
  default_backend shop
backend shop
  server web1 192.0.2.21:8080 check
  filter trace
`

/** Fails when a call is not accepted. */
type Asked = (method: string, path: string, body?: object) => Promise<unknown>

const asking =
  (test: Test, call: Caller): Asked =>
  async (method, path, body) => {
    const answer = await call(method, path, body === undefined ? {} : { body })
    test.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
    return answer.json.data
  }

const idOf = (data: unknown): string => String(Reflect.get(Object(data), 'id'))

export async function extensionCalls(test: Test): Promise<void> {
  const clock = async () => ({
    timezone: 'Etc/UTC',
    ntpEnabled: true,
    tracking: { ...TRACKING, servers: [...TRACKING.servers] },
  })
  const check = { exitCode: 0, durationMs: 5, output: 'it answers', up: true }
  const facts = stillFacts({ clock, tryCheck: async () => check })
  const { call, login, node, state, appliance } = await applianceFixture(test, {}, { facts })
  const ask = asking(test, call)
  const made = await balanced(ask)
  await goingLive(ask, made.rip)
  await declared(ask)
  await figures(ask, { ...made, node, state })
  const floating = await machine(ask, node)
  await alerting(ask)
  await undecided(test, call, node, floating)
  await ask('POST', '/token/resume')
  const person = { email: 'jane@localhost', firstname: 'Jane', lastname: 'Roe', password: PASSWORD, disabled: false }
  await ask('POST', '/localUsers/users', person)
  await ask('PUT', '/services/apply')
  const hers = asking(test, caller(appliance, await login(person.email, PASSWORD)))
  await account(hers)
  for (const path of ['/localUsers/sessions', '/localUsers/tokens', '/audit?limit=2', '/jobs']) await ask('GET', path)
}

async function balanced(ask: Asked) {
  const rip = idOf(await ask('POST', '/ipvsDirector/rips', { name: 'web', ip: '192.0.2.7', port: 80 }))
  const reals = [{ ripId: rip }]
  const backend = idOf(await ask('POST', '/layer7proxy/backends', { name: 'servers', mode: 'http', reals }))
  const at = { ip: '127.0.0.1', ports: '8000' }
  const frontend = idOf(
    await ask('POST', '/layer7proxy/frontends', { name: 'shop', mode: 'http', ...at, defaultBackendId: backend }),
  )
  const l4Backend = idOf(await ask('POST', '/ipvsDirector/backends', { name: 'mail', reals }))
  const l4 = { name: 'mail', ip: '192.0.2.50', ports: '25', protocol: 'tcp', forwarding: 'masq', backendId: l4Backend }
  const l4Frontend = idOf(await ask('POST', '/ipvsDirector/frontends', l4))
  await ask('PUT', '/services/apply')
  return { rip, backend, frontend, l4Backend, l4Frontend }
}

async function goingLive(ask: Asked, rip: string): Promise<void> {
  const weigh = (weight: number) => ask('PUT', `/ipvsDirector/rips/${rip}`, { port: 80, weight })
  await weigh(7)
  await ask('GET', '/services/pending?render=true')
  await ask('POST', '/services/validate')
  await ask('PUT', '/services/apply', { confirmWithin: 60, comment: 'more for web' })
  await ask('GET', '/services/apply')
  await ask('PUT', '/services/apply/confirm')
  await weigh(9)
  await ask('PUT', '/services/apply', { confirmWithin: 60 })
  await ask('PUT', '/services/apply/revert')
  await ask('DELETE', '/services/pending')
  const transaction = idOf(await ask('POST', '/transactions'))
  await ask('GET', '/transactions')
  await ask('PUT', `/transactions/${transaction}/rollback`)
  await ask('GET', '/revisions?limit=2')
  await ask('GET', '/revisions/1/diff/2')
  await ask('PUT', `/ipvsDirector/rips/${rip}/drain?wait=1h&then=halt`)
  const jobs = await ask('GET', '/jobs')
  const job = idOf(Array.isArray(jobs) ? jobs[0] : undefined)
  await ask('GET', `/jobs/${job}`)
  await ask('PUT', `/jobs/${job}/cancel`)
  await ask('PUT', `/ipvsDirector/rips/${rip}/online`)
  await ask('PUT', '/services/apply')
}

async function declared(ask: Asked): Promise<void> {
  const planned = await ask('POST', '/config/plan', { document: SITE })
  const plan = String(Reflect.get(Object(planned), 'planId'))
  await ask('PUT', `/config/plans/${plan}/apply`, { comment: 'as in the repository' })
  await ask('GET', '/config/document?sections=realServers,l7Backends,l7Frontends')
  await ask('POST', '/config/import', { haproxyCfg: HAPROXY_CFG })
}

interface Figures {
  readonly rip: string
  readonly backend: string
  readonly frontend: string
  readonly l4Backend: string
  readonly l4Frontend: string
  readonly node: string
  readonly state: string
}

async function figures(ask: Asked, { rip, backend, frontend, l4Backend, l4Frontend, node, state }: Figures) {
  const store = new LogStore(join(state, 'access-logs'), LIMITS)
  store.append([logRow({ frontend, backend, server: rip, path: '/basket?token=**' })], {})
  store.close()
  await ask('GET', `/${node}/layer7proxy/logs?status=2xx&limit=1`)
  await ask('GET', `/${node}/layer7proxy/logs/top`)
  await ask('GET', '/overview')
  const layer7 = `/${node}/layer7proxy/stats`
  for (const shown of liveOf(frontend, rip, backend)) await ask('GET', `${layer7}${shown}`)
  const window = 'start=1790000000&end=1790000002&resolution=1&metrics=sessionRate'
  const several = (at: string, front: string, back: string) => [
    `${at}/frontends/history?ids=${front}&${window}`,
    `${at}/backends/history?ids=${back}&${window}`,
    `${at}/rips/history?ids=${rip}&${window}`,
  ]
  const each = (at: string) => [
    `${at}/frontends/${l4Frontend}/history?${window}`,
    `${at}/backends/${l4Backend}/history?${window}`,
    `${at}/rips/backend/${l4Backend}/history?${window}`,
    `${at}/rips/${rip}/history?${window}`,
  ]
  for (const path of several(layer7, frontend, backend)) await ask('GET', path)
  for (const at of ['/ipvsDirector/stats', `/${node}/ipvsDirector/stats`])
    for (const path of [...several(at, l4Frontend, l4Backend), ...each(at)]) await ask('GET', path)
}

const liveOf = (frontend: string, rip: string, backend: string) => [
  `/frontends/${frontend}`,
  '/rips',
  `/rips/backend/${backend}`,
  `/rips/${rip}`,
]

/** Returns the id of a floating IP. */
async function machine(ask: Asked, node: string): Promise<string> {
  await ask('GET', `/${node}/interfaces`)
  await ask('GET', `/${node}/system/datetime/ntp`)
  const check = { name: 'own', description: '', script: '#!/bin/sh\nexit 0\n', services: ['layer-7'] }
  const checkId = idOf(await ask('POST', '/healthchecks', check))
  await ask('POST', `/healthchecks/${checkId}/test`, { ip: '192.0.2.7', port: 80, parameters: {} })
  const lan = { name: 'lan', networkIp: '192.0.2.0', networkMask: 24, gateway: '192.0.2.1' }
  const groupId = idOf(await ask('POST', '/ipgroups', lan))
  const address = idOf(await ask('POST', `/${node}/sips`, { groupId, ip: '192.0.2.5' }))
  await ask('POST', `/${node}/sips/${address}/ping`, { to: '192.0.2.1' })
  const floating = idOf(await ask('POST', '/fips', { groupId, ip: '192.0.2.80' }))
  await ask('GET', '/rbac/endpoints')
  const ca = { name: 'ca', directoryUrl: 'https://ca.test/directory', termsAgreed: true, httpPort: 8000 }
  await ask('GET', `/certificates/acme/accounts/${idOf(await ask('POST', '/certificates/acme/accounts', ca))}`)
  return floating
}

async function alerting(ask: Asked): Promise<void> {
  const chat = { name: 'chat', type: 'webhook', url: 'https://127.0.0.1:9/hook' }
  await ask('POST', `/alerts/targets/${idOf(await ask('POST', '/alerts/targets', chat))}/test`)
  await ask('POST', '/alerts/silences', { objectName: 'web*', reason: 'they are rebuilt', for: 3600 })
  await ask('GET', '/alerts/silences')
}

async function account(ask: Asked): Promise<void> {
  await ask('GET', '/localUsers/me')
  await ask('GET', '/localUsers/me/sessions')
  await ask('POST', '/localUsers/me/tokens', { name: 'a program', expiresInDays: 90 })
  await ask('GET', '/localUsers/me/tokens')
  const newPassword = 'another-password'
  await ask('PUT', '/localUsers/me/password', { currentPassword: PASSWORD, newPassword })
  const begun = await ask('POST', '/localUsers/me/2fa', { password: newPassword })
  const secret = String(Reflect.get(Object(begun), 'secret'))
  const confirmed = await ask('POST', '/localUsers/me/2fa/confirm', {
    code: hotp(secret, Math.floor(Date.now() / 30_000)),
  })
  const codes: readonly string[] = Reflect.get(Object(confirmed), 'recoveryCodes') ?? []
  await ask('DELETE', '/localUsers/me/2fa', { password: newPassword, code: codes[0] ?? '' })
}

/** Calls that need a cluster, or an identity provider: they are refused for want of one, and the requests are valid. */
async function undecided(test: Test, call: Caller, node: string, floating: string): Promise<void> {
  for (const [method, path, body] of [
    ['POST', '/cluster/tokens', { role: 'node', validFor: 3600 }],
    ['PUT', '/cluster', { preferredNode: node, takeoverAfter: 60 }],
    ['PUT', '/cluster/takeover', { partnerIsOff: node, reason: 'its mainboard is being replaced' }],
    ['PUT', '/cluster/resolve', { keep: node }],
    ['PUT', `/cluster/nodes/${node}`, { name: 'lb-1', address: '192.0.2.5:9444' }],
    ['PUT', `/cluster/nodes/${node}/maintenance`, { enabled: true, reason: 'memory is added' }],
    ['PUT', `/fips/${floating}/move`, { nodeId: node }],
    ['POST', '/saml/token', { code: 'A'.repeat(43) }],
    ['POST', '/oidc/token', { code: 'A'.repeat(43) }],
  ] as const) {
    const { status, text } = await call(method, path, { body })
    test.ok([401, 404, 409].includes(status), `${method} ${path}: ${status} ${text}`)
  }
}
