import { type Static, Type } from 'typebox'
import { type FieldProblem, problemIn } from '../base/errors.ts'
import { isHost } from '../base/host-name.ts'
import { MASK, unstored } from '../base/mask.ts'
import { closed, optional } from '../model/fields.ts'
import { RADIUS_HOSTS_MAX, RadiusConfig, RadiusHost } from '../model/sign-in.ts'
import { groupAttributeProblem } from '../radius/group-attribute.ts'
import { VALUE_LENGTH_MAX } from '../radius/packet.ts'

/** The settings if none are stored. */
export const NO_RADIUS: Settings = {
  enabled: false,
  port: 1812,
  authProtocol: 'PAP',
  sharedSecret: '',
  timeout: 5,
  retries: 2,
  nasIdentifier: '',
  requireMessageAuthenticator: true,
  hosts: [],
  groupAttribute: 'Class',
  groupMappings: [],
  denyUnmapped: true,
}

const { id: _, hosts: _hosts, sharedSecret, ...plain } = RadiusConfig.properties
const Secret = (description: string) => Type.Optional(Type.Union([sharedSecret, Type.Null()], { description }))

const SentHost = closed({
  host: RadiusHost.properties.host,
  port: Type.Optional(RadiusHost.properties.port),
  sharedSecret: Secret(
    'Secret of this server. Omitted keeps the stored one for the same host and port, ** also requires that one is stored; empty or null for the common one. Never returned.',
  ),
  priority: Type.Optional(RadiusHost.properties.priority),
})

/** The fields of a change: absent fields keep their value. */
export const SENT_CONFIG = {
  ...optional(plain),
  sharedSecret: Secret(
    'Secret shared with the servers. Omitted or ** keeps the stored one; empty or null clears it. Never returned.',
  ),
  hosts: Type.Optional(Type.Array(SentHost, { maxItems: RADIUS_HOSTS_MAX, description: 'All servers.' })),
}
export const SentConfig = closed(SENT_CONFIG)
export type SentConfig = Static<typeof SentConfig>

export type Settings = Omit<RadiusConfig, 'id'>

/** Checks single fields. */
export function sentProblems(sent: Partial<SentConfig>): readonly FieldProblem[] {
  const problems = (sent.hosts ?? []).flatMap(({ host }, index) =>
    isHost(host) ? [] : [problemIn(`hosts.${index}.host`, 'must be an IP address or a host name')],
  )
  const attribute = sent.groupAttribute === undefined ? undefined : groupAttributeProblem(sent.groupAttribute)
  if (attribute !== undefined) problems.push(problemIn('groupAttribute', attribute))
  for (const [index, { value }] of (sent.groupMappings ?? []).entries()) {
    if (value === '') problems.push(problemIn(`groupMappings.${index}.value`, 'is required'))
  }
  if (Buffer.byteLength(sent.nasIdentifier ?? '') > VALUE_LENGTH_MAX) {
    problems.push(problemIn('nasIdentifier', `must not be longer than ${VALUE_LENGTH_MAX} bytes`))
  }
  return problems
}

/** Identifies a server by host and port; without a port of its own it uses the common one. */
const placeOf = (host: string, port: number | null, { port: common }: Pick<Settings, 'port'>) =>
  `${host.toLowerCase()} ${port ?? common}`

function hostsFrom(sent: SentConfig['hosts'], port: number, stored: Settings) {
  const problems: FieldProblem[] = []
  if (sent === undefined) return { hosts: stored.hosts, problems }
  const kept = new Map(stored.hosts.map((one) => [placeOf(one.host, one.port, stored), one.sharedSecret]))
  const places = new Set<string>()
  const merged = sent.map((one, index): RadiusHost => {
    const place = placeOf(one.host, one.port ?? null, { port })
    if (places.has(place)) problems.push(problemIn(`hosts.${index}`, 'is a duplicate: host and port'))
    places.add(place)
    const secret = kept.get(place) ?? ''
    if (one.sharedSecret === MASK && secret === '') problems.push(unstored(`hosts.${index}.sharedSecret`))
    const isKept = one.sharedSecret === undefined || one.sharedSecret === MASK
    const own = isKept ? secret : (one.sharedSecret ?? '')
    return { host: one.host, port: one.port ?? null, sharedSecret: own, priority: one.priority ?? 0 }
  })
  return { hosts: merged, problems }
}

/** Checks that servers can be queried. */
function readinessProblems({ hosts: asked, sharedSecret: common }: Settings): readonly FieldProblem[] {
  if (asked.length === 0) return [problemIn('hosts', 'must name a server')]
  const without = asked.filter(({ sharedSecret: own }) => own === '' && common === '')
  const names = without.map(({ host }) => host).join(', ')
  return without.length === 0 ? [] : [problemIn('sharedSecret', `is required: ${names} has no secret of its own`)]
}

/**
 * Merges the sent fields into the stored ones, and returns all problems at once. With `isAsking` the servers are
 * queried now; otherwise they must be usable only if RADIUS is enabled.
 */
export function mergedConfig(sent: SentConfig, stored: Settings, isAsking = false) {
  const { hosts: sentHosts, sharedSecret: sentSecret, ...fields } = sent
  const { hosts: merged, problems: found } = hostsFrom(sentHosts, sent.port ?? stored.port, stored)
  const problems = [...sentProblems(sent), ...found]
  if (sentSecret === MASK && stored.sharedSecret === '') problems.push(unstored('sharedSecret'))
  const isKept = sentSecret === undefined || sentSecret === MASK
  const settings: Settings = {
    ...stored,
    ...fields,
    hosts: merged,
    sharedSecret: isKept ? stored.sharedSecret : (sentSecret ?? ''),
  }
  const isMissing = problems.some(({ code }) => code === 'PASSWORD_NOT_STORED')
  if ((settings.enabled || isAsking) && !isMissing) problems.push(...readinessProblems(settings))
  return { settings, problems }
}
