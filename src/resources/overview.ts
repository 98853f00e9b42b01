import { type Static, Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import type { ContextOf } from '../context/context.ts'
import { EVENT_KINDS } from '../model/job.ts'
import { type Attention, Overview } from '../model/overview.ts'
import { Warning } from '../model/warning.ts'
import { Moment, MomentOrNull } from '../model/fields.ts'

const ATTENTION_MAX = 100
const EVENTS = 10
const REVISIONS = 5
const WARNINGS_MAX = 20

const text = (description: string) => Type.String({ description })
const count = (description: string) => Type.Integer({ description })
/** Data of another endpoint, shown only with the right to that endpoint. */
const withRight = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T, endpointName: string) =>
  Type.Union([schema, Type.Null()], { description: `null without the right ${endpointName}.` })

const Apply = Type.Object({
  state: Type.Enum(['idle', 'applying', 'waiting'], { description: 'See GET /services/apply.' }),
  revision: count('Running revision.'),
  by: Type.Union([Type.String(), Type.Null()], {
    description: 'E-mail of the user who applied last; null if nothing was ever applied.',
  }),
  startedAt: MomentOrNull('ISO 8601.'),
  secondsLeft: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Seconds until the apply is reverted; null unless it waits.',
  }),
})
const Pending = Type.Object({
  count: count('Number of pending changes.'),
  mine: count('Number of those that the caller edited last.'),
  changedAt: MomentOrNull('ISO 8601. Time of the last edit of any of them; null if there are none.'),
  warnings: Type.Array(Warning, { description: 'Warnings about them; the first 20.' }),
})
const Jobs = Type.Object({
  running: count('Number of running jobs.'),
  failed: count('Number of stored jobs that failed.'),
})
const Happened = Type.Object({
  id: count('Number of the event.'),
  at: Moment('ISO 8601.'),
  kind: Type.Enum([...EVENT_KINDS], { description: 'Kind, as in GET /events.' }),
  data: Type.Record(Type.String(), Type.Unknown(), { description: 'Fields of the event.' }),
})
const Revision = Type.Object({
  revision: count('Number.'),
  by: text('E-mail of the user who applied.'),
  at: Moment('ISO 8601.'),
  comment: text('Comment of the apply.'),
  count: count('Number of changed records.'),
})

const Data = Type.Object({
  ...Overview.properties,
  apply: withRight(Apply, 'GET /services/apply'),
  pending: withRight(Pending, 'GET /services/pending'),
  jobs: withRight(Jobs, 'GET /jobs'),
  events: withRight(Type.Array(Happened), 'GET /events'),
  revisions: withRight(Type.Array(Revision), 'GET /revisions'),
})

const TRAFFIC = {
  sessions: 12,
  newPerSecond: 3,
  requestsPerSecond: 40,
  bytesInPerSecond: null,
  bytesOutPerSecond: null,
}
const SERVERS = { total: 2, up: 1, down: 1, checking: 0, drained: 0, halted: 0, unknown: 0 }
const ONE_UP = { total: 1, up: 1, down: 0 }
const NONE = { total: 0, up: 0, down: 0 }
const LAYER_7 = { problem: null, frontends: ONE_UP, backends: ONE_UP, reals: SERVERS, traffic: TRAFFIC }
const UNKNOWN = { sessions: null, newPerSecond: null, requestsPerSecond: null, bytesInPerSecond: null }
const NODE = '0198c0de-0000-7000-8000-000000000001'
const AT = '2026-01-01T12:00:00.000Z'

const EXAMPLE: Static<typeof Data> = {
  time: AT,
  nodeId: NODE,
  version: '0.1.0',
  haproxy: { answers: true, since: AT, version: '2.6.12' },
  layer7: LAYER_7,
  layer4: {
    problem: null,
    frontends: NONE,
    backends: NONE,
    reals: { ...SERVERS, total: 0, up: 0, down: 0 },
    traffic: { ...UNKNOWN, bytesOutPerSecond: null },
  },
  disk: { size: 100_000_000_000, available: 60_000_000_000 },
  nodes: [
    {
      id: NODE,
      name: 'lb1',
      isSelf: true,
      state: 'online',
      isLeader: true,
      inMaintenance: false,
      version: '0.1.0',
    },
  ],
  quorum: null,
  attention: [
    {
      kind: 'serverDown',
      severity: 'warning',
      message: 'web2 of shop is down',
      resource: 'realServers',
      resourceId: '0198c0de-0000-7000-8000-000000000002',
      name: 'web2',
    },
  ],
  more: 0,
  apply: { state: 'idle', revision: 7, by: 'admin@localhost', startedAt: AT, secondsLeft: null },
  pending: { count: 3, mine: 2, changedAt: AT, warnings: [] },
  jobs: { running: 0, failed: 0 },
  events: [{ id: 12, at: AT, kind: 'realServer', data: { state: 'down', name: 'web2', backendName: 'shop' } }],
  revisions: [{ revision: 7, by: 'admin@localhost', at: AT, comment: '', count: 2 }],
}

async function pendingOf({ pending, actor }: Pick<ContextOf['read'], 'pending' | 'actor'>) {
  const { count: all, mine, changedAt } = pending.count(actor.email)
  const warnings = all === 0 ? [] : await pending.warnings()
  return { count: all, mine, changedAt, warnings: warnings.slice(0, WARNINGS_MAX) }
}

export const overview = [
  endpoint({
    name: 'overview.show',
    method: 'GET',
    path: '/overview',
    effect: 'read',
    extension: true,
    summary: 'Read the overview: health and traffic of both layers, what needs attention, nodes, recent events',
    message: 'Overview',
    data: Type.Object(Data.properties, { examples: [EXAMPLE] }),
    async handle(ctx) {
      const { noted, ...looked } = await ctx.overview.look()
      const shown = noted.filter(({ right }) => right === undefined || ctx.may(right))
      const attention = shown.slice(0, ATTENTION_MAX).map(({ right: _right, ...one }): Attention => one)
      const allowed = <T>(right: string, tell: () => T): T | null => (ctx.may(right) ? tell() : null)
      const { state, revision, by, startedAt, secondsLeft } = ctx.applying.state
      return {
        ...looked,
        attention,
        more: shown.length - attention.length,
        apply: allowed('services.applyState', () => ({ state, revision, by, startedAt, secondsLeft })),
        pending: ctx.may('services.pending') ? await pendingOf(ctx) : null,
        jobs: allowed('jobs.list', () => {
          const all = ctx.jobs.list()
          const of = (wanted: string) => all.filter((job) => job.state === wanted).length
          return { running: of('running'), failed: of('failed') }
        }),
        events: allowed('events.stream', () =>
          ctx.events.latest(EVENTS).map(({ data, ...event }) => ({ ...event, data: { ...data } })),
        ),
        revisions: allowed('revisions.list', () =>
          ctx.revisions.list(REVISIONS, undefined).map(({ applyId: _id, ...one }) => one),
        ),
      }
    },
  }),
]
