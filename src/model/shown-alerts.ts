import { type Static, Type } from 'typebox'
import { CONDITION_TYPES, SEVERITIES, STAGES } from './alerts.ts'
import { Moment, MomentOrNull } from './fields.ts'

const text = (description: string) => Type.String({ description })
const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

/** The outcomes of a message at one target. */
export const OUTCOMES = ['waiting', 'delivered', 'dropped'] as const

export const AlertShown = Type.Object({
  nodeId: Type.Optional(text('Node that reports this; with node=all.')),
  id: text('Id of the alert.'),
  state: Type.Enum(['firing', 'silenced', 'resolved'], {
    description: 'silenced: the alert fires, but a silence suppresses its messages.',
  }),
  severity: Type.Enum([...SEVERITIES], { description: 'Severity of the rule.' }),
  ruleId: text('Id of the rule.'),
  ruleName: text('Name of the rule when the alert fired.'),
  kind: Type.Enum([...CONDITION_TYPES], { description: 'Type of the condition.' }),
  objectType: text('Kind of object, such as server, frontend, certificate, node or disk.'),
  objectId: text('Id of the object; for a real server, in its backend: BACKEND/SERVER.'),
  objectName: text('Name of the object when the alert fired.'),
  text: text('Description, one sentence.'),
  value: Type.Union([Type.Number(), Type.Null()], { description: 'Last value; null if there is no number.' }),
  since: Moment('Start of the condition, ISO 8601.'),
  endedAt: MomentOrNull('End of the condition, ISO 8601; null while the alert fires.'),
  count: Type.Integer({ description: 'For events: number of occurrences.' }),
  silenceId: orNull('Id of the silence; null unless the alert is silenced.'),
  deliveries: Type.Array(
    Type.Object({
      targetId: text('Id of the target.'),
      targetName: text('Name of the target; its id if it no longer exists.'),
      messageId: text('Id of the message, the same for every attempt.'),
      phase: Type.Enum(['firing', 'repeated', 'resolved', 'test'], { description: 'Why the message is sent.' }),
      outcome: Type.Enum([...OUTCOMES], {
        description: 'dropped: the message waited too long, too many messages waited, or the target rejected it.',
      }),
      at: Moment('Time of this state, ISO 8601.'),
      tries: Type.Integer({ description: 'Consecutive failed attempts of the next message.' }),
      nextTry: MomentOrNull('Next attempt, ISO 8601; null unless the message waits.'),
      reason: orNull('Why the message is not delivered.'),
    }),
    { description: 'Last messages about the alert.' },
  ),
})
export type AlertShown = Static<typeof AlertShown>

export const DeliveriesShown = Type.Object({
  nodeId: Type.Optional(text('Node that reports this; with node=all.')),
  targetId: text('Id of the target.'),
  targetName: text('Name of the target.'),
  at: Moment('Time of the last change, ISO 8601.'),
  waiting: Type.Integer({ description: 'Waiting messages.' }),
  delivered: Type.Integer({ description: 'Messages delivered since the start of the daemon.' }),
  dropped: Type.Integer({ description: 'Messages dropped, in total.' }),
  lastDeliveredAt: MomentOrNull('Last delivery, ISO 8601; null before the first one since the start of the daemon.'),
  failures: Type.Integer({ description: 'Consecutive failed attempts.' }),
  lastError: orNull('Why the last attempt failed; null unless it did.'),
  nextTry: MomentOrNull('Next attempt, ISO 8601; null unless one is due.'),
})
export type DeliveriesShown = Static<typeof DeliveriesShown>

export const TargetTested = Type.Object({
  ok: Type.Boolean({ description: 'Whether the target accepted the message.' }),
  stage: Type.Enum([...STAGES], { description: 'Last stage that was reached.' }),
  message: text('Result of the test.'),
  messageId: text('Id of the message.'),
})
export type TargetTested = Static<typeof TargetTested>
