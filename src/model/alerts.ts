import { Type, type Static } from 'typebox'
import { closed, Id, idOf, Line, Moment, Name, Port, refersTo } from './fields.ts'
import { EVENT_KINDS } from './job.ts'

/** Rules, targets and silences of alerts. Which fields go together is checked in src/rules. */

export const TARGETS_MAX = 32
export const RULES_MAX = 200

export const TARGET_TYPES = ['mail', 'webhook', 'syslog', 'snmp'] as const
export type TargetType = (typeof TARGET_TYPES)[number]
export const TEMPLATES = ['json', 'slack', 'teams', 'mattermost', 'discord'] as const
export const TRAP_AUTH_ALGORITHMS = ['sha', 'sha224', 'sha256', 'sha384', 'sha512'] as const
export const TRAP_PRIVACY_ALGORITHMS = ['aes', 'aes256'] as const

const MailAddress = (description: string) =>
  Type.String({ maxLength: 320, pattern: '^[^\\s@,;:<>"()\\\\\\u0000-\\u0020]+@[A-Za-z0-9.-]+$', description })

const WebhookHeader = closed({
  name: Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$", description: 'Name of the header.' }),
  value: Line(4096, 'Value of the header; secret.'),
})

/** A target of alerts. Fields that its type does not have are absent. */
export const AlertTarget = closed({
  id: Id,
  name: Name,
  enabled: Type.Boolean({
    description: 'Whether messages are sent; pending messages of a disabled target are dropped.',
  }),
  type: Type.Enum([...TARGET_TYPES], { description: 'Type of target; cannot be changed.' }),
  host: Type.Optional(
    Type.String({ minLength: 1, maxLength: 253, description: 'For mail, syslog and snmp: host name or address.' }),
  ),
  port: Type.Optional({
    ...Port,
    description:
      'Port for mail (default 465 with tls, 587 with starttls, 25 with tcp), syslog (6514, 601) and snmp (162).',
  }),
  transport: Type.Optional(
    Type.Enum(['tls', 'starttls', 'tcp'], {
      description:
        'For mail and syslog. tls (default): encrypted from the first byte. starttls (mail only): the server must offer it. tcp: not encrypted, and no password is sent.',
    }),
  ),
  caCertificate: Type.Optional(
    Type.String({
      maxLength: 65_536,
      description:
        'For mail, syslog and webhook: PEM of the root certificate that the server must chain to; if omitted, the public roots.',
    }),
  ),
  certificateId: Type.Optional(refersTo(idOf('For syslog: client certificate.'), 'certificates')),
  username: Type.Optional(Line(253, 'For mail: the login name. For snmp version 3: the security name.')),
  password: Type.Optional(Line(1024, 'Password for mail; secret.')),
  from: Type.Optional(MailAddress('For mail: sender.')),
  to: Type.Optional(
    Type.Array(MailAddress('E-mail address of a recipient.'), {
      minItems: 1,
      maxItems: 50,
      uniqueItems: true,
      description: 'For mail: the recipients.',
    }),
  ),
  url: Type.Optional(
    Type.String({
      maxLength: 2048,
      pattern: '^https://[^\\s@#]+$',
      description:
        'For webhook: URL that messages are posted to. The part after the host is a secret, because chat systems authenticate by nothing else.',
    }),
  ),
  template: Type.Optional(
    Type.Enum([...TEMPLATES], { description: 'For webhook: format of the body. json (default) contains all details.' }),
  ),
  secret: Type.Optional(Line(256, 'For webhook: key of the signature (Standard Webhooks, HMAC-SHA256); secret.')),
  headers: Type.Optional(
    Type.Array(WebhookHeader, {
      maxItems: 16,
      description: 'For webhook: additional headers; their values are secret.',
    }),
  ),
  version: Type.Optional(
    Type.Enum(['2c', '3'], { description: 'For snmp. 2c: traps. 3 (default): informs, which are acknowledged.' }),
  ),
  community: Type.Optional(Line(255, 'Community for snmp version 2c; secret.')),
  authAlgorithm: Type.Optional(
    Type.Enum([...TRAP_AUTH_ALGORITHMS], { description: 'For snmp version 3; default sha256.' }),
  ),
  authPassphrase: Type.Optional(Line(255, 'Passphrase for snmp version 3; secret.')),
  privacyAlgorithm: Type.Optional(
    Type.Enum([...TRAP_PRIVACY_ALGORITHMS], { description: 'For snmp version 3; default aes.' }),
  ),
  privacyPassphrase: Type.Optional(Line(255, 'For snmp version 3; without it nothing is encrypted; secret.')),
})
export type AlertTarget = Static<typeof AlertTarget>

/** Fields that are never returned; the URL and headers are returned in part. */
export const TARGET_SECRETS = ['password', 'secret', 'community', 'authPassphrase', 'privacyPassphrase'] as const

export const CONDITION_TYPES = [
  'event',
  'threshold',
  'serverDown',
  'certificateEnd',
  'applyWaiting',
  'disk',
  'cluster',
] as const
export type AlertCondition = (typeof CONDITION_TYPES)[number]
export const SEVERITIES = ['info', 'warning', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]

const ObjectId = Type.String({
  minLength: 1,
  maxLength: 129,
  pattern: '^[A-Za-z0-9-]{1,64}(/[A-Za-z0-9-]{1,64})?$',
  description: 'Id of an object, which has to exist; BACKEND/SERVER: a real server in one backend only.',
})

export const AlertWhen = closed(
  {
    type: Type.Enum([...CONDITION_TYPES], {
      description:
        'event: an event occurs. threshold: a live figure is above or below a value. serverDown: the health checks of a real server fail. certificateEnd: a certificate expires soon. applyWaiting: changes wait for an apply, or an apply for its confirmation. disk: the disk of the state folder fills up. cluster: another node or the witness is unreachable, or this node has no quorum.',
    }),
    events: Type.Optional(
      Type.Array(Type.Enum([...EVENT_KINDS], { description: 'Kind of event, as in GET /events.' }), {
        minItems: 1,
        maxItems: EVENT_KINDS.length,
        uniqueItems: true,
        description: 'For event: kinds of events.',
      }),
    ),
    states: Type.Optional(
      Type.Array(Line(64, 'Value of `state` in the event.'), {
        minItems: 1,
        maxItems: 32,
        uniqueItems: true,
        description: 'For event: only events with one of these states; default all.',
      }),
    ),
    layer: Type.Optional(
      Type.Enum([4, 7], {
        description: 'For threshold and serverDown: layer of the objects; default 7, for serverDown both.',
      }),
    ),
    object: Type.Optional(
      Type.Enum(['frontend', 'backend', 'server'], {
        description: 'For threshold: kind of object that has the figure.',
      }),
    ),
    metric: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9]{1,64}$',
        description: 'For threshold: the live figure, such as currentSessions.',
      }),
    ),
    is: Type.Optional(Type.Enum(['above', 'below'], { description: 'For threshold. Default above.' })),
    value: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1e15,
        description:
          'For threshold: value to compare with. For certificateEnd: days before expiry (default 30). For disk: percent in use (default 90).',
      }),
    ),
    ids: Type.Optional(
      Type.Array(ObjectId, {
        minItems: 1,
        maxItems: 1000,
        uniqueItems: true,
        description: 'For threshold, serverDown and certificateEnd: only these objects; default all.',
      }),
    ),
    names: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        pattern: '^[^\\u0000-\\u001f\\u007f]+$',
        description: 'For the same types: only objects with this name; * matches anything; not case-sensitive.',
      }),
    ),
    waits: Type.Optional(
      Type.Enum(['apply', 'confirmation'], { description: 'For applyWaiting: what is waited for; default both.' }),
    ),
  },
  'Condition of the rule.',
)
export type AlertWhen = Static<typeof AlertWhen>

export const AlertRule = closed({
  id: Id,
  name: Name,
  enabled: Type.Boolean({ description: 'Whether the rule is evaluated; default true.' }),
  severity: Type.Enum([...SEVERITIES], { description: 'Severity; default warning.' }),
  when: AlertWhen,
  for: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    description:
      'Seconds that the condition must hold before the alert fires, 0 to 86400; default 30. Events fire immediately.',
  }),
  clearFor: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    description:
      'Seconds that the condition must be over before the alert is resolved, so that a flapping condition is reported once; default 60.',
  }),
  repeatEvery: Type.Integer({
    minimum: 0,
    maximum: 2_678_400,
    description:
      'Seconds after which a firing alert is sent again, 60 to 2678400; default 14400; 0: never. Not for events.',
  }),
  resolve: Type.Boolean({
    description: 'Whether a message is sent when the alert is resolved; default true. Not for events.',
  }),
  targets: Type.Array(refersTo(Id, 'alertTargets'), {
    maxItems: TARGETS_MAX,
    uniqueItems: true,
    description: 'Targets to notify; none: GET /alerts only.',
  }),
})
export type AlertRule = Static<typeof AlertRule>

/** Suppresses alerts that people already know of. */
export const Silence = closed({
  id: Id,
  ruleId: Type.Union([refersTo(Id, 'alertRules'), Type.Null()], {
    description: 'Alerts of this rule; null: of all rules.',
  }),
  objectId: Type.Union([Type.String({ maxLength: 128 }), Type.Null()], {
    description: 'Alerts about the object with this id, as in GET /alerts; null: about all objects.',
  }),
  objectName: Type.Union([Type.String({ maxLength: 128 }), Type.Null()], {
    description: 'Alerts about objects with this name; * matches anything; null: about all objects.',
  }),
  reason: Line(500, 'Why.'),
  by: Type.String({ description: 'E-mail of the user who created the silence.' }),
  startedAt: Moment('ISO 8601.'),
  endsAt: Moment('ISO 8601.'),
})
export type Silence = Static<typeof Silence>

/** The reason for a message. */
export type Phase = 'firing' | 'repeated' | 'resolved' | 'test'

/** One alert as a message lists it. */
export interface ToldAlert {
  readonly id: string
  readonly kind: string
  readonly objectId: string
  readonly objectName: string
  /** A sentence. */
  readonly text: string
  readonly value: number | null
  /** ISO 8601. */
  readonly since: string
}

/** A message: the same for all targets, with the same id however often it is sent. */
export interface AlertMessage {
  readonly id: string
  readonly phase: Phase
  readonly severity: Severity
  readonly rule: { readonly id: string; readonly name: string }
  readonly nodeId: string
  /** ISO 8601. */
  readonly at: string
  /** The alerts listed in the message. */
  readonly alerts: readonly ToldAlert[]
  /** Number of alerts in total. */
  readonly count: number
}

/** The input of the sending thread. */
export interface Sending {
  readonly target: AlertTarget
  readonly shown: { readonly cert: string; readonly key: string } | undefined
  /** Oldest first. */
  readonly messages: readonly AlertMessage[]
  /** Recipients who got the first message at an earlier try. */
  readonly having: readonly string[]
  readonly hostname: string
  readonly allowsLoopback: boolean
  /** Internal networks that may be reached. */
  readonly allowed: readonly string[]
}

export const STAGES = ['resolve', 'connect', 'authenticate', 'send'] as const
export type Stage = (typeof STAGES)[number]

/** The outcome: how many messages were accepted, and why the next one was not. */
export interface Sent {
  readonly taken: number
  readonly failure:
    | {
        readonly stage: Stage
        readonly reason: string
        /** The wait that the target requests. */
        readonly retryAfter_s?: number
        /** Whether the target rejects this message itself: trying again would not help, and others wait. */
        readonly isFinal?: boolean
        /** Recipients who have the message all the same, if there are others. */
        readonly having?: readonly string[]
      }
    | undefined
}
