import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { ERRORS } from '../../src/errors.ts'
import { endpoints } from '../../src/resources/index.ts'
import { ADMIN, type Caller, patientFixture, type Received } from '../appliance-fixture.ts'
import { Dice, requestFor, type Samples } from './request-maker.ts'

/** 1,000,000 in the long run: FULCRUM_ATTACK_REQUESTS=1000000, perhaps with another FULCRUM_ATTACK_SEED. */
const REQUESTS = Number(process.env['FULCRUM_ATTACK_REQUESTS'] ?? 12_000)
const SEED = Number(process.env['FULCRUM_ATTACK_SEED'] ?? 20_261_120)
const APPLY_EVERY = 200
const FORGET_EVERY = 1000
const MEBIBYTE = 2 ** 20

/** After these the caller may do nothing any more. */
const LEFT_OUT = new Set(['events.stream', 'loginPolicy.update', 'saml.update'])

/** A stream has no end that could be waited for. A password is hashed for 20 ms: those are asked more rarely. */
const fuzzed = endpoints.filter(({ name, permissionOnly }) => !permissionOnly && !LEFT_OUT.has(name))
const isSlow = ({ name }: Endpoint) =>
  /^(auth\.login|localUsers\.(create|update)|account\.(changePassword|beginSecond|removeSecond)|radius|saml\.)/.test(
    name,
  )

const answers = new Map<TSchema, (value: unknown) => boolean>()
function fits(schema: TSchema, value: unknown): boolean {
  let check = answers.get(schema)
  if (check === undefined) {
    const compiled = Compile(schema)
    answers.set(schema, (check = (candidate) => compiled.Check(candidate)))
  }
  return check(value)
}

/** What is wrong with an answer, whatever was asked; undefined when nothing is. */
function faultOf(endpoint: Endpoint, { status, json, text, headers }: Received): string | undefined {
  if (/[\r\n]/.test(Object.values(headers).join(''))) return 'a header holds a line break'
  if (!String(headers['content-type']).startsWith('application/json'))
    return status < 400 ? undefined : 'a refusal without JSON'
  if (status === 304) return undefined
  if (status >= 400) {
    const known = Object.entries(ERRORS).find(([code]) => code === json.code)
    if (known === undefined || known[1].status !== status) return `an unknown refusal: ${text.slice(0, 200)}`
    if (json.code === 'INTERNAL') return `a defect: ${text.slice(0, 200)}`
    return undefined
  }
  // A confirmation page and documents are JSON without an envelope.
  if (endpoint.data === undefined || json?.status !== 'success' || json.data === undefined) return undefined
  return fits(endpoint.data, json.data) ? undefined : `data does not fit: ${text.slice(0, 300)}`
}

/** What is there to be named. */
async function samplesOf(call: Caller, node: string): Promise<Samples> {
  const ids = async (path: string, name = 'id') => {
    const { json } = await call('GET', path)
    const list = Array.isArray(json?.data) ? json.data : []
    const found = list.slice(0, 20).map((record: Record<string, unknown>) => record[name])
    // Who asks must go on asking.
    return [...found.filter((id: unknown) => id !== me), 'unknown-1']
  }
  const me = (await call('GET', '/localUsers/me')).json.data.id
  const [reals, users, groups, roles] = await Promise.all(
    ['/ipvsDirector/rips', '/localUsers/users', '/rbac/groups', '/rbac/roles'].map((path) => ids(path)),
  )
  const [frontends, backends, certificates] = await Promise.all(
    ['/layer7proxy/frontends', '/layer7proxy/backends', '/certificates/certs'].map((path) => ids(path)),
  )
  const [ipGroups, addresses] = await Promise.all(['/ipgroups', `/${node}/sips`].map((path) => ids(path)))
  const all = [reals, users, groups, roles, frontends, backends, certificates, ipGroups, addresses]
  return {
    applianceId: [node],
    applianceID: [node],
    id: all.flatMap((list) => list ?? []),
    ripId: reals ?? [],
    defaultBackendId: backends ?? [],
    certificates: certificates ?? [],
    groupId: [...(ipGroups ?? []), ...(groups ?? [])],
    groups: groups ?? [],
    roles: roles ?? [],
    ipId: addresses ?? [],
    serviceIpId: addresses ?? [],
    service: ['layer7proxy', 'ssh', 'ntp', 'snmp', 'x'],
    filename: ['x.json', '2026-01-01T00-00-00Z.json'],
    file: ['start.js', 'x.json'],
    ip: ['127.0.0.1', '192.0.2.7', '2001:db8::7', '198.51.100.20'],
    networkIp: ['192.0.2.0', '198.51.100.0'],
    networkMask: [24, 25],
    ports: ['80', '8080', '443,8443', '9000-9010'],
    email: ['a@example.org', 'b@example.org'],
    password: ['a-password', 'x'],
    disabled: ['false', 'true', false],
    name: Array.from({ length: 30 }, (_, n) => `record ${n}`),
    start: [1_700_000_000],
    end: [1_700_000_600],
  }
}

function heapUsed(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') for (let n = 0; n < 3; n += 1) collect()
  return process.memoryUsage().heapUsed
}

t.test(`${REQUESTS} requests made from the schemas: no crash, no defect, no leak (seed ${SEED})`, async (test) => {
  test.setTimeout(0)
  const unhandled: unknown[] = []
  const note = (reason: unknown) => unhandled.push(reason)
  process.on('unhandledRejection', note)
  test.teardown(() => process.off('unhandledRejection', note))
  const { call, anonymous, node, login } = await patientFixture(test)
  const dice = new Dice(SEED)
  const faults: string[] = []
  const statuses: Record<number, number> = {}
  let token: string | undefined
  let samples = await samplesOf(call, node)
  let halfWay = 0
  for (let n = 0; n < REQUESTS && faults.length < 10; n += 1) {
    if (n === Math.floor(REQUESTS / 2)) halfWay = heapUsed()
    if (n % FORGET_EVERY === FORGET_EVERY - 1) await call('DELETE', '/services/pending')
    if (n % APPLY_EVERY === APPLY_EVERY - 1) {
      await call('PUT', '/services/apply')
      samples = await samplesOf(call, node)
    }
    const endpoint = dice.of(fuzzed)
    if (isSlow(endpoint) && !dice.chance(0.02)) continue
    const made = requestFor(endpoint, dice, samples)
    const sent = { ...(made.raw === undefined ? {} : { raw: made.raw }), ...(token === undefined ? {} : { token }) }
    const answer = await (dice.chance(0.02) ? anonymous : call)(made.method, made.path, sent)
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
    const fault = faultOf(endpoint, answer)
    if (fault !== undefined)
      faults.push(
        `${made.method} ${made.path} ${Buffer.from(made.raw ?? '')
          .toString()
          .slice(0, 300)}: ${fault}`,
      )
    // It logged itself out, or changed its own password.
    if (answer.status === 401 || endpoint.name === 'auth.logout') token = await login(ADMIN.email, ADMIN.password)
  }
  test.same(faults, [])
  test.same(unhandled, [])
  const grown = (heapUsed() - halfWay) / MEBIBYTE
  test.comment(
    `answers by status: ${JSON.stringify(statuses)}; the second half grew the heap by ${grown.toFixed(1)} MiB`,
  )
  // Records that the requests made stay; what is lost by request would be far more in the long run.
  test.ok(grown < 64, `${grown} MiB`)
})
