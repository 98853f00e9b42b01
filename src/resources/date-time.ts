import { Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import { endpoint, NoData } from '../api/endpoint.ts'
import { ApiError, type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { dryRun } from '../api/reply.ts'
import { isHost } from '../base/host-name.ts'
import { closed, Moment } from '../model/fields.ts'
import type { ClockFacts, MachineFacts } from '../model/machine-facts.ts'
import type { ClockSettings } from '../model/node.ts'
import { isoInZone, wallTimeOf } from '../base/wall-time.ts'

/** The time zone of a machine that does not report one. */
const NO_ZONE = 'Etc/UTC'
const NO_SETTINGS = { timezone: '', ntp: null } as const

const text = (description: string, maxLength = 64) => Type.String({ maxLength, description })

const DateTimeData = closed({
  dateTime: Moment('Current date and time, ISO 8601 with the offset of the time zone.'),
  timezone: text('Region/City.'),
  ntpEnabled: Type.Boolean({ description: 'Whether chrony controls the clock.' }),
  ntp: Type.Array(text('Host name or address.', 253), {
    description: 'NTP servers; an empty list means those of Debian.',
  }),
})

const Tracking = closed({
  synchronised: Type.Boolean({ description: 'Whether the clock is synchronised.' }),
  reference: Type.Union([text('Server.', 253), Type.Null()], {
    description: 'Server that the clock is synchronised to, or null.',
  }),
  stratum: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Stratum: distance to a reference clock; null while chrony does not run.',
  }),
  offsetSeconds: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Offset of the clock from the reference in seconds, positive if the clock is fast; null while chrony does not run.',
  }),
  servers: Type.Array(
    closed({
      name: text('Host name or address.', 253),
      state: text('selected, combined, not combined, unusable, false ticker, too variable or unknown.'),
      reachable: Type.Boolean({ description: 'Whether the server answered one of the last eight queries.' }),
    }),
    { description: 'NTP servers in use.' },
  ),
})
const NOT_TRACKING = { synchronised: false, reference: null, stratum: null, offsetSeconds: null, servers: [] }

/** Maps region to city to an empty object, as the specification has it. */
const TimeZones = Type.Record(Type.String(), Type.Record(Type.String(), NoData), {
  description: 'Cities of each region; region/city is the name of a time zone.',
})

type Anywhere = ContextOf['read'] | ContextOf['stage']

async function zonesOf(machine: Pick<MachineFacts, 'timeZones'>): Promise<readonly string[]> {
  const zones = await machine.timeZones()
  if (zones === undefined) throw new ApiError('NOT_SUPPORTED', 'This machine has no time zone data: install tzdata')
  return zones
}

function byRegion(zones: readonly string[]) {
  const regions: Record<string, Record<string, never[]>> = {}
  for (const zone of zones) {
    const slash = zone.indexOf('/')
    if (slash !== -1) (regions[zone.slice(0, slash)] ??= {})[zone.slice(slash + 1)] = []
  }
  return regions
}

/** Returns the node's settings, and for the others the machine's present values. */
async function clockOf(ctx: Anywhere, nodeId: string) {
  const { timezone, ntp } = ctx.section('clocks').settings(nodeId) ?? NO_SETTINGS
  if (timezone !== '' && ntp !== null) return { timezone, ntpEnabled: ntp.enabled, ntp: [...ntp.servers] }
  const found = await ctx.nodeFacts.of(nodeId).clock()
  const { enabled, servers } = ntp ?? ntpOf(found)
  return { timezone: timezone || (found.timezone ?? NO_ZONE), ntpEnabled: enabled, ntp: [...servers] }
}

function ntpOf({ ntpEnabled, tracking }: ClockFacts): NonNullable<ClockSettings['ntp']> {
  // The servers of a pool all have the pool's name.
  const names = new Set(tracking?.servers.map(({ name }) => name))
  return { enabled: ntpEnabled ?? false, servers: [...names] }
}

function serverProblems(servers: readonly string[] = []): readonly FieldProblem[] {
  const message = 'must be a host name or an IP address'
  return servers.flatMap((server, index): FieldProblem[] =>
    isHost(server) ? [] : [problemIn(`ntp.${index}`, message)],
  )
}

function store(ctx: ContextOf['stage'], id: string, settings: Partial<Omit<ClockSettings, 'id'>>): void {
  const clocks = ctx.section('clocks')
  clocks.put({ ...NO_SETTINGS, ...clocks.find(id), ...settings, id })
}

/** NTP would set the clock back at once. */
async function refuseWhileKept(ctx: ContextOf['act']): Promise<void> {
  const isOurs = ctx.running.get('clocks', ctx.nodeId)?.ntp?.enabled === true
  if (!isOurs && (await ctx.machine.clock()).ntpEnabled !== true) return
  const message = 'cannot be set while NTP controls the clock: disable NTP and apply first'
  refuseFields([{ field: 'dateTime', code: 'NTP_ENABLED', message }])
}

const Zone = text(
  'Region/City, see GET /system/datetime/timezones; accepted as zone or, as GET returns it, as timezone.',
)

const datePath = '/{applianceId}/system/datetime'

export const dateTime = [
  endpoint({
    name: 'dateTime.timezones',
    method: 'GET',
    path: '/system/datetime/timezones',
    effect: 'read',
    refuses: ['NOT_SUPPORTED'],
    summary: 'List the time zones of this machine by region and city',
    message: 'Time zones',
    data: TimeZones,
    handle: async (ctx) => byRegion(await zonesOf(ctx.machine)),
  }),
  endpoint({
    name: 'dateTime.get',
    method: 'GET',
    path: datePath,
    answeredByAny: 'in transactions',
    effect: 'read',
    summary: 'Read date, time, time zone and NTP servers of this node',
    message: 'Date and time',
    moving: ['dateTime'],
    data: DateTimeData,
    handle: async (ctx, { params: { applianceId: id } }) => {
      const clock = await clockOf(ctx, id)
      return { dateTime: isoInZone(await ctx.nodeFacts.of(id).now_ms(), clock.timezone), ...clock }
    },
  }),
  endpoint({
    name: 'dateTime.update',
    method: 'PUT',
    path: datePath,
    effect: 'act',
    staged: true,
    managedOnly: true,
    comparesRevision: true,
    refuses: ['APPLY_IN_PROGRESS', 'APPLY_PARTIAL', 'NTP_ENABLED'],
    summary: 'Set date and time of this node immediately, in its time zone; refused while NTP controls the clock',
    message: 'Date and time set',
    body: closed({ dateTime: text('Date and time, ISO 8601; its offset is ignored.') }),
    handle: async (ctx, { body }) => {
      const wallTime = wallTimeOf(body.dateTime)
      if (wallTime === undefined) {
        const message = 'must be a valid date and time, such as 2026-01-31T13:45:00'
        refuseFields([problemIn('dateTime', message)])
        return undefined
      }
      // Refuses a caller whose If-Match names an older version of the clock's settings.
      ctx.section('clocks').settings(ctx.nodeId)
      await refuseWhileKept(ctx)
      const { isDryRun } = await ctx.clock.set(wallTime)
      if (!isDryRun) return undefined
      const message = 'Recorded only: the trial profile does not set the clock of this machine'
      return dryRun(undefined, message)
    },
  }),
  endpoint({
    name: 'dateTime.tracking',
    method: 'GET',
    path: `${datePath}/ntp`,
    effect: 'read',
    extension: true,
    refuses: ['NOT_SUPPORTED'],
    summary: 'Read the NTP status of this node',
    message: 'NTP status',
    data: Tracking,
    handle: async (ctx) => {
      const { tracking } = await ctx.machine.clock()
      if (tracking === undefined) return NOT_TRACKING
      const { synchronised, reference, stratum, offset_s, servers } = tracking
      return { synchronised, reference, stratum, offsetSeconds: offset_s, servers: servers.map((one) => ({ ...one })) }
    },
  }),
  endpoint({
    name: 'dateTime.ntp',
    method: 'PUT',
    path: `${datePath}/ntp`,
    answeredByAny: 'in transactions',
    effect: 'stage',
    readBy: 'dateTime.get',
    summary: 'Enable or disable NTP on this node; omitted servers keep their value',
    message: 'NTP settings stored',
    body: closed({
      ntpEnabled: Type.Boolean({ description: 'Whether chrony controls the clock.' }),
      ntp: Type.Optional(
        Type.Array(text('Host name or address.', 253), {
          maxItems: 32,
          description: 'NTP servers, at most 32. Omitted keeps the list; an empty list means the servers of Debian.',
        }),
      ),
    }),
    whenNull: { ntp: [] },
    rules: ({ ntp }) => serverProblems(ntp),
    handle: async (ctx, { params: { applianceId: id }, body }) => {
      refuseFields(serverProblems(body.ntp))
      const servers = body.ntp ?? (await clockOf(ctx, id)).ntp
      store(ctx, id, { ntp: { enabled: body.ntpEnabled, servers } })
    },
  }),
  endpoint({
    name: 'dateTime.timezone',
    method: 'PUT',
    path: `${datePath}/timezone`,
    answeredByAny: 'in transactions',
    effect: 'stage',
    readBy: 'dateTime.get',
    summary: 'Change the time zone of this node',
    message: 'Time zone stored',
    body: closed({ zone: Type.Optional(Zone), timezone: Type.Optional(Zone) }),
    needsOneOf: [['zone', 'timezone']],
    spellings: { timezone: 'zone' },
    handle: async (ctx, { params: { applianceId: id }, body: { zone = '' } }) => {
      const zones = await zonesOf(ctx.nodeFacts.of(id))
      if (!zones.includes(zone)) {
        refuseFields([problemIn('zone', 'is not a time zone of this machine')])
      }
      store(ctx, id, { timezone: zone })
    },
  }),
]
