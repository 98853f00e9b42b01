import { Type, type Static } from 'typebox'
import { Moment, MomentOrNull, newIdOf, titled } from './fields.ts'

/** Long work that was started for a user and continues after its request was answered. */

export const JobState = Type.Enum(['running', 'succeeded', 'failed', 'cancelled'], {
  description: 'running until it ends in one of the others.',
})

export const Job = titled('Job', {
  id: newIdOf('Id of the job; sorts by the time of its start.'),
  kind: Type.String({ description: 'What is done, such as update or snapshot.create.' }),
  title: Type.String({ description: 'The same for people.' }),
  state: JobState,
  progress: Type.Union([Type.Integer({ minimum: 0, maximum: 100 }), Type.Null()], {
    description: 'Percent, 0 to 100; null if unknown.',
  }),
  step: Type.String({ description: 'What is done right now; empty before the first step.' }),
  log: Type.Array(Type.String(), { description: 'The last lines of its output, 200 at the most.' }),
  result: Type.Unknown({ description: 'What came of it, by kind; null unless it succeeded.' }),
  problem: Type.Union(
    [
      titled('JobProblem', {
        code: Type.String({ description: 'Code.' }),
        message: Type.String({ description: 'Sentence.' }),
      }),
      Type.Null(),
    ],
    {
      description: 'Why it failed; null unless it did.',
    },
  ),
  by: Type.String({ description: 'E-mail of the user who started it, or fulcrum for the daemon itself.' }),
  startedAt: Moment('ISO 8601. Start.'),
  endedAt: MomentOrNull('ISO 8601. End; null while it runs.'),
  resourceId: Type.Optional(
    Type.String({ description: 'Id of the record that it is about; absent where it is about none, or many.' }),
  ),
  canCancel: Type.Boolean({ description: 'Whether PUT /jobs/{id}/cancel ends it now.' }),
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
