import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { ERRORS } from '../../src/base/errors.ts'
import type { Caller, Received } from '../fixtures/appliance.ts'
import { endpoints } from './attack-fixture.ts'
import type { Dice, Made, Samples } from './request-maker.ts'

/** Endpoints that would end the rights of the caller. */
const LEFT_OUT = new Set([
  'accessLogs.stream',
  'events.stream',
  'stats.stream',
  'loginPolicy.update',
  'saml.update',
  'oidc.update',
])

/**
 * Excludes streams, which never end. Endpoints that hash a password for 20 ms, or watch a restarted service for a
 * while, are requested less often.
 */
export const fuzzed = endpoints.filter(({ name }) => !LEFT_OUT.has(name))
export const isSlow = ({ name }: Endpoint) =>
  /^(auth\.login|localUsers\.(create|update)|account\.(changePassword|beginSecond|removeSecond)|radius|saml\.|oidc\.|services\.re)/.test(
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

/** Returns the endpoint that answers: without its last, empty part, a path is that of a list. */
export function answering(endpoint: Endpoint, made: { readonly method: string; readonly path: string }): Endpoint {
  if (!/\/(?:\?|$)/.test(made.path)) return endpoint
  const listed = endpoint.path.replace(/\/\{\w+\}$/, '')
  return fuzzed.find(({ method, path }) => method === made.method && path === listed) ?? endpoint
}

/** Returns what is wrong with an answer, whatever the request; undefined when nothing is. */
export function faultOf(endpoint: Endpoint, { status, json, text, headers }: Received): string | undefined {
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

/** Existing ids and names for requests. */
export async function samplesOf(call: Caller, node: string, more: Samples = {}): Promise<Samples> {
  const ids = async (path: string, name = 'id') => {
    const { json } = await call('GET', path)
    const list = Array.isArray(json?.data) ? json.data : []
    const found = list.slice(0, 20).map((record: Record<string, unknown>) => record[name])
    // The caller must keep its own user.
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
    ...more,
  }
}

/** Returns a text with one character changed, left out or doubled, half of the time. */
export function damaged(text: string, dice: Dice): string {
  if (dice.chance(0.5)) return text
  const at = dice.below(text.length)
  const kinds = ['', '\n', 'A', '=', '{', '\u0000', text.slice(at, at + 40), text.slice(at)]
  return `${text.slice(0, at)}${dice.of(kinds)}${text.slice(at + 1)}`
}

/** For people to read. */
export const described = ({ method, path, raw }: Made): string =>
  `${method} ${path.slice(0, 150)} ${Buffer.from(raw ?? '')
    .toString()
    .slice(0, 300)}`
