import { Type, type Static } from 'typebox'
import { Moment, MomentOrNull, newIdOf, titled } from './fields.ts'

/** Long work that was started for a user and continues after its request was answered. */

export const JobState = Type.Enum(['running', 'succeeded', 'failed', 'cancelled'], {
  description: 'running until the job ends in one of the other states.',
})

export const Job = titled('Job', {
  id: newIdOf('Id of the job; ids sort by start time.'),
  kind: Type.String({ description: 'Kind of job, such as update or snapshot.create.' }),
  title: Type.String({ description: 'Title for display.' }),
  state: JobState,
  progress: Type.Union([Type.Integer({ minimum: 0, maximum: 100 }), Type.Null()], {
    description: 'Percent, 0 to 100; null if unknown.',
  }),
  step: Type.String({ description: 'Current step; empty before the first one.' }),
  log: Type.Array(Type.String(), { description: 'Last lines of the output, at most 200.' }),
  result: Type.Unknown({ description: 'Result, depending on the kind; null unless the job succeeded.' }),
  problem: Type.Union(
    [
      titled('JobProblem', {
        code: Type.String({ description: 'Code.' }),
        message: Type.String({ description: 'Sentence.' }),
      }),
      Type.Null(),
    ],
    {
      description: 'Reason of the failure; null unless the job failed.',
    },
  ),
  by: Type.String({ description: 'E-mail of the user who started the job, or fulcrum for the daemon itself.' }),
  startedAt: Moment('ISO 8601. Start.'),
  endedAt: MomentOrNull('ISO 8601. End; null while the job runs.'),
  resourceId: Type.Optional(
    Type.String({ description: 'Id of the record that the job concerns; absent if there is none, or more than one.' }),
  ),
  canCancel: Type.Boolean({ description: 'Whether PUT /jobs/{id}/cancel can end the job now.' }),
})
export type Job = Static<typeof Job>

/** Kinds of events, in the words of `event:` of GET /events. */
export const EVENT_KINDS = [
  'apply',
  'job',
  'realServer',
  'certificate',
  'login',
  'node',
  'cluster',
  'address',
  'syslog',
] as const
export type EventKind = (typeof EVENT_KINDS)[number]

/** The values of `state` in events, by kind. */
export const EVENT_STATES = {
  /**
   * `kept`: confirmed; `reverted`: taken back because nobody confirmed it; `followed`: this node was away when others
   * applied, and now runs the same.
   */
  apply: ['applied', 'followed', 'refused', 'kept', 'reverted'],
  job: ['running', 'succeeded', 'failed', 'cancelled'],
  realServer: ['up', 'down', 'resolved', 'unresolved'],
  certificate: ['expires', 'expired', 'renewed', 'renewal failed'],
  login: ['refused'],
  node: [
    'started',
    'stopping',
    'haproxy up',
    'haproxy down',
    'keepalived up',
    'keepalived down',
    'halt begins',
    'halt failed',
    'reboot begins',
    'reboot failed',
    'health checks run',
    'health checks do not run',
    'audit log full',
    'audit log tampered with',
  ],
  cluster: [
    'node joined',
    'node removed',
    'node reached',
    'node unreachable',
    'node updated',
    'witness joined',
    'witness removed',
    'witness reached',
    'witness unreachable',
    'quorum lost',
    'quorum back',
    'taken over',
    'halted',
    'removed',
    'histories parted',
    'histories resolved',
    'clock apart',
    'clock right',
  ],
  address: ['taken', 'given away'],
  syslog: ['reached', 'unreachable'],
} as const satisfies Readonly<Record<EventKind, readonly string[]>>

/** What an event of this kind says. */
export interface EventData<Kind extends EventKind> {
  readonly state: (typeof EVENT_STATES)[Kind][number]
  readonly [more: string]: unknown
}
