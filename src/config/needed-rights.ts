import { isDeepStrictEqual } from 'node:util'
import { ApiError, type FieldError } from '../base/errors.ts'
import { ACCESS_SECTIONS } from '../model/access-sections.ts'
import { NO_RAW } from '../model/l7-raw.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName, type Touched } from '../model/sections.ts'
import { SNMP_OFF } from '../model/snmp.ts'
import { NO_SYSLOG_SERVER } from '../model/syslog-server.ts'
import { isOwned } from '../model/confined.ts'
import { nameRecord } from '../rules/names.ts'

/** Whether the caller may use the named endpoint: for every record, or for the one that is touched. */
export type May = (endpoint: string, touched?: Touched) => boolean

/** The part of a record's change by which the caller's rights are judged. */
export interface Judged {
  readonly id: string
  readonly section: string
  readonly key: string
  readonly actor: string
  /** The endpoint that staged it last. */
  readonly endpoint: string
  readonly before: unknown
  readonly after: unknown
}

/** Names of endpoints; the right to any of them is enough. */
type AnyOf = readonly string[]

/** The endpoints that edit records of a section. Without `create`, a new record is judged field by field. */
interface Makers {
  readonly create?: AnyOf
  readonly update: AnyOf
  readonly remove: AnyOf
  /** Fields that endpoints other than `update` write, or write as well. */
  readonly fields?: Readonly<Record<string, AnyOf | ((value: unknown) => AnyOf)>>
  /** The values that count while there is no record. */
  readonly absent?: object
}

/** Endpoints that write whole records of any section: what they staged is permitted, whatever it contains. */
const RESTORES: AnyOf = ['backups.restore', 'revisions.restore']
const OF_ROLES: AnyOf = ['roles.create', 'roles.update', 'roles.delete']
const MOVES = new Map<unknown, string>([
  ['drained', 'realServers.drain'],
  ['halted', 'realServers.halt'],
  ['online', 'realServers.online'],
])

const records = (name: string, fields: NonNullable<Makers['fields']> = {}): Makers => ({
  create: [`${name}.create`],
  update: [`${name}.update`],
  remove: [`${name}.delete`],
  fields,
})
/** Rights for a record that always exists, in effect. */
const settings = (endpoint: string, more: Pick<Makers, 'fields' | 'absent'> = {}): Makers => ({
  update: [endpoint],
  remove: [endpoint],
  ...more,
})

const MAKERS: { readonly [N in SectionName]: Makers } = {
  users: records('localUsers', {
    roles: ['localUsers.update', ...OF_ROLES],
    groups: ['localUsers.update', 'groups.delete'],
  }),
  groups: records('groups', { roles: OF_ROLES }),
  roles: records('roles'),
  realServers: records('realServers', {
    state: (state) => ['realServers.update', MOVES.get(state) ?? 'realServers.update'],
  }),
  healthChecks: records('healthChecks'),
  l4Frontends: records('l4Frontends'),
  l4Backends: records('l4Backends'),
  l7Frontends: records('l7Frontends'),
  l7Backends: records('l7Backends'),
  l7Raw: settings('l7Raw.update', { absent: NO_RAW }),
  syslogServers: settings('syslogServer.update', { absent: NO_SYSLOG_SERVER }),
  ipGroups: records('ipGroups'),
  staticIps: records('staticIps'),
  floatingIps: records('floatingIps'),
  ipRoutes: records('ipRoutes'),
  conntrackLimits: settings('conntrack.update'),
  conntrackTimeouts: settings('conntrack.update'),
  systemProxies: settings('systemProxy.update'),
  userInterfaces: settings('userInterface.update'),
  clocks: settings('dateTime.ntp', {
    fields: { timezone: ['dateTime.timezone'] },
    absent: { timezone: '', ntp: null },
  }),
  nodeIdentities: { create: RESTORES, update: RESTORES, remove: RESTORES },
  certificates: records('certificates'),
  cipherLists: records('cipherLists'),
  acmeAccounts: { create: ['acmeAccounts.create'], update: RESTORES, remove: ['acmeAccounts.delete'] },
  acmeOrders: { create: ['acmeOrders.create'], update: ['acmeOrders.update'], remove: ['acmeOrders.delete'] },
  // The first SNMP user that is created gives the engine its id.
  snmpSettings: settings('snmp.update', {
    fields: { engineId: ['snmp.update', 'snmpUsers.create', 'snmpUsers.update'] },
    absent: SNMP_OFF,
  }),
  snmpUsers: records('snmpUsers'),
  radiusConfigs: settings('radiusConfig.update'),
  // These users are created by logging in; otherwise by a restore, which needs the right to create roles to bring users
  // back.
  radiusUsers: { create: ['roles.create'], update: ['radiusUsers.update'], remove: ['radiusUsers.delete'] },
  samlConfigs: settings('saml.update'),
  oidcConfigs: settings('oidc.update'),
  loginPolicies: settings('loginPolicy.update'),
  alertTargets: records('alertTargets'),
  alertRules: records('alertRules'),
}

/** Every endpoint named above, for a test. */
export const MAKER_NAMES: readonly string[] = Object.values(MAKERS).flatMap(
  ({ create = [], update, remove, fields = {} }) => [
    ...[create, update, remove].flat(),
    ...Object.values(fields).flatMap((makers) => (typeof makers === 'function' ? [...MOVES.values()] : makers)),
  ],
)

/**
 * Returns the right that the caller lacks for a change, as names of endpoints any of which would do; undefined if none
 * is lacking.
 */
export function missedRight(change: Judged, may: May): AnyOf | undefined {
  const { before, after } = change
  if (isRestored(change, may)) return undefined
  const { create, remove } = MAKERS[sectionOf(change)]
  const whole = isNothing(after) ? remove : isNothing(before) ? create : undefined
  if (whole === undefined) return missedField(change, may)
  return whole.some((name) => may(name, change)) ? undefined : whole
}

function isRestored({ section, endpoint }: Judged, may: May): boolean {
  if (!RESTORES.includes(endpoint) || !may(endpoint)) return false
  if (section === 'l7Raw') return may('l7Raw.update')
  return !isOfAccess([{ section }]) || may('roles.create')
}

/** Does the same for the fields that differ. */
function missedField(change: Judged, may: May): AnyOf | undefined {
  const { update, fields = {}, absent = {} } = MAKERS[sectionOf(change)]
  const [old, next]: readonly [object, object] = [Object(change.before ?? absent), Object(change.after)]
  for (const field of Object.keys({ ...old, ...next })) {
    const [was, is]: readonly unknown[] = [Reflect.get(old, field), Reflect.get(next, field)]
    if (field === 'id' || isDeepStrictEqual(was, is)) continue
    const special = fields[field] ?? update
    const wanted = typeof special === 'function' ? special(is) : special
    if (!wanted.some((name) => may(name, change))) return wanted
  }
  return undefined
}

/** A record to which a change adds a reference although its author may not read it, as the change requires. */
interface Reached {
  readonly field: string
  readonly section: SectionName
  readonly id: string
}

/**
 * A user who may change only some records of a kind could reach other records by attaching them: so a new reference
 * requires the right to read its target, and no more. A user who may change all records of the kind needs no such rule.
 */
function reachedBeyond(change: Judged, may: May, find: Find): Reached | undefined {
  const { before, after } = change
  const section = sectionOf(change)
  if (isNothing(after) || !isOwned(section) || missedRight(change, (name) => may(name)) === undefined) return undefined
  const known = new Set((isNothing(before) ? [] : referencesOf(section, before)).map(placeOf))
  return referencesOf(section, after).find((reference) => {
    const { id, section: referred, orSection } = reference
    if (known.has(placeOf(reference)) || !isOwned(referred)) return false
    const target = find(referred, id) ?? (orSection === undefined ? undefined : find(orSection, id))
    const touched = { section: referred, before: undefined, after: target }
    return target === undefined || !['get', 'list'].some((verb) => may(`${referred}.${verb}`, touched))
  })
}

const placeOf = ({ section, id }: Pick<Reached, 'section' | 'id'>) => `${section} ${id}`
const referencesOf = (section: SectionName, record: unknown) => SECTIONS[section].references(record as never)

/** Finds the target of a reference. */
type Find = (section: SectionName, id: string) => unknown

/**
 * Returns whether one of the changes says who may log in, how, or with which rights: such changes are applied and
 * discarded together.
 */
export const isOfAccess = (changes: readonly { readonly section: string }[]): boolean =>
  changes.some((change) => ACCESS_SECTIONS.has(sectionOf(change)))

/** The maximum number of changes that an error lists. */
const LISTED_MAX = 1_000

/**
 * Refuses and lists the changes that the caller could not have made; `next` tells how to go on. Records that the
 * changes refer to are among them or in `view`.
 */
export function refuseForeign(
  changes: readonly Judged[],
  may: May,
  next: string,
  view: () => Pick<ConfigView, 'get'>,
): void {
  // Computed only for callers with confined rights.
  let made: ReadonlyMap<string, unknown> | undefined
  let seen: Pick<ConfigView, 'get'> | undefined
  const find: Find = (section, id) => {
    seen ??= view()
    made ??= new Map(changes.map((change) => [`${change.section} ${change.key}`, change.after]))
    return made.get(`${section} ${id}`) ?? seen.get(section, id)
  }
  const foreign = changes.flatMap((change) => {
    const missed = missedRight(change, may)
    if (missed !== undefined) return [{ change, why: `needs the right ${missed.join(' or ')}` }]
    const reached = reachedBeyond(change, may, find)
    if (reached === undefined) return []
    const { field, section, id } = reached
    const why = `needs the right ${section}.get for the ${SECTIONS[section].label} ${id} in ${field}`
    return [{ change, why }]
  })
  if (foreign.length === 0) return
  const errors = foreign.slice(0, LISTED_MAX).map(({ change, why }): FieldError => ({
    field: change.id,
    code: 'PERMISSION_DENIED',
    message: `${told(change)} ${why}`,
  }))
  const count = foreign.length === 1 ? 'One of these changes is' : `${foreign.length} of these changes are`
  throw new ApiError('PERMISSION_DENIED', `${count} not yours to make: ${next}`, { errors })
}

/** Describes a change for people: "the change of the real server web1 (id) by ann@corp.example". */
export function told(change: Judged): string {
  const section = sectionOf(change)
  const name = String(Reflect.get(Object(change.after ?? change.before), SECTIONS[section].nameField))
  return `the change of the ${nameRecord(section, { id: change.key, name })} by ${change.actor}`
}

function sectionOf({ section }: Pick<Judged, 'section'>): SectionName {
  const known = SECTION_NAMES.find((name) => name === section)
  if (known === undefined) throw new Error(`there is no section ${section}`)
  return known
}

const isNothing = (value: unknown) => value === undefined || value === null
