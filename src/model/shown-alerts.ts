import { type Static, Type } from 'typebox'
import { CONDITION_TYPES, SEVERITIES, STAGES } from './alerts.ts'
import { Moment, MomentOrNull } from './fields.ts'

const text = (description: string) => Type.String({ description })
const orNull = (description: string) => Type.Union([Type.String(), Type.Null()], { description })

/** The outcomes of a message at one target. */
export const OUTCOMES = ['waiting', 'delivered', 'dropped'] as const

export const AlertShown = Type.Object({
  nodeId: Type.Optional(text('Node that it is of; with node=all.')),
  id: text('Id of the alert.'),
  state: Type.Enum(['firing', 'silenced', 'resolved'], {
    description: 'silenced: it fires, and a silence keeps it from being told.',
  }),
  severity: Type.Enum([...SEVERITIES], { description: 'Of the rule.' }),
  ruleId: text('Rule.'),
  ruleName: text('Its name when it fired.'),
  kind: Type.Enum([...CONDITION_TYPES], { description: 'What the rule looks for.' }),
  objectType: text('What it is about, such as server, frontend, certificate, node or disk.'),
  objectId: text('Id of what it is about; a real server is of one backend: BACKEND/SERVER.'),
  objectName: text('Its name when it fired.'),
  text: text('A sentence.'),
  value: Type.Union([Type.Number(), Type.Null()], { description: 'Last value; null where there is no number.' }),
  since: Moment('Since when it is so, ISO 8601.'),
  endedAt: MomentOrNull('Since when it is over, ISO 8601; null while it fires.'),
  count: Type.Integer({ description: 'Of an event: how often it came.' }),
  silenceId: orNull('The silence; null unless it is silenced.'),
  deliveries: Type.Array(
    Type.Object({
      targetId: text('Target.'),
      targetName: text('Its name; its id when it is gone.'),
      messageId: text('The same at every try.'),
      phase: Type.Enum(['firing', 'repeated', 'resolved', 'test'], { description: 'Why it was told.' }),
      outcome: Type.Enum([...OUTCOMES], {
        description: 'dropped: it waited too long, too many waited, or the target did not want it.',
      }),
      at: Moment('When it came to this, ISO 8601.'),
      tries: Type.Integer({ description: 'Tries in a row that failed, of the one that is next.' }),
      nextTry: MomentOrNull('ISO 8601; null unless it waits.'),
      reason: orNull('Why it is not delivered.'),
    }),
    { description: 'Last messages about it.' },
  ),
})
export type AlertShown = Static<typeof AlertShown>

export const DeliveriesShown = Type.Object({
  nodeId: Type.Optional(text('Node that it is of; with node=all.')),
  targetId: text('Target.'),
  targetName: text('Its name.'),
  at: Moment('Of the last change, ISO 8601.'),
  waiting: Type.Integer({ description: 'Messages that wait.' }),
  delivered: Type.Integer({ description: 'Messages that were taken since the start of the daemon.' }),
  dropped: Type.Integer({ description: 'Messages that were given up, ever.' }),
  lastDeliveredAt: MomentOrNull('ISO 8601; null before the first since the start of the daemon.'),
  failures: Type.Integer({ description: 'Tries in a row that failed.' }),
  lastError: orNull('Why the last try failed; null unless it did.'),
  nextTry: MomentOrNull('ISO 8601; null unless it waits for one.'),
})
export type DeliveriesShown = Static<typeof DeliveriesShown>

export const TargetTested = Type.Object({
  ok: Type.Boolean({ description: 'Whether the target took the message.' }),
  stage: Type.Enum([...STAGES], { description: 'The last one that was tried.' }),
  message: text('What happened.'),
  messageId: text('Of the message.'),
})
export type TargetTested = Static<typeof TargetTested>
