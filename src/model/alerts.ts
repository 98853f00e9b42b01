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
  name: Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$", description: 'Of the header.' }),
  value: Line(4096, 'What it says; secret.'),
})

/** A target of alerts. Fields that its type does not have are absent. */
export const AlertTarget = closed({
  id: Id,
  name: Name,
  enabled: Type.Boolean({ description: 'Whether anything is sent; what waits for a target that is off is dropped.' }),
  type: Type.Enum([...TARGET_TYPES], { description: 'How people are told. It never changes.' }),
  host: Type.Optional(
    Type.String({ minLength: 1, maxLength: 253, description: 'Of mail, syslog and snmp: host name or address.' }),
  ),
  port: Type.Optional({
    ...Port,
    description: 'Of mail (default 465 with tls, 587 with starttls, 25 with tcp), syslog (6514, 601) and snmp (162).',
  }),
  transport: Type.Optional(
    Type.Enum(['tls', 'starttls', 'tcp'], {
      description:
        'Of mail and syslog. tls, the default: from the first byte. starttls, of mail: the server has to offer it. tcp: anybody between may read, and no password is sent.',
    }),
  ),
  caCertificate: Type.Optional(
    Type.String({
      maxLength: 65_536,
      description: 'Of mail, syslog and webhook: PEM of the root that the server is known by; else the usual ones.',
    }),
  ),
  certificateId: Type.Optional(refersTo(idOf('Of syslog: certificate that is shown to the server.'), 'certificates')),
  username: Type.Optional(Line(253, 'For mail: the login name. For snmp version 3: the security name.')),
  password: Type.Optional(Line(1024, 'Of mail; secret.')),
  from: Type.Optional(MailAddress('Of mail: sender.')),
  to: Type.Optional(
    Type.Array(MailAddress('Of a recipient.'), {
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
        'Of webhook: where it is posted. All behind the host is a secret, as chat systems ask for nothing else.',
    }),
  ),
  template: Type.Optional(
    Type.Enum([...TEMPLATES], { description: 'Of webhook: what is posted. json, the default: all there is to tell.' }),
  ),
  secret: Type.Optional(Line(256, 'Of webhook: key of the signature (Standard Webhooks, HMAC-SHA256); secret.')),
  headers: Type.Optional(
    Type.Array(WebhookHeader, {
      maxItems: 16,
      description: 'Of webhook: headers of its own; their values are secret.',
    }),
  ),
  version: Type.Optional(
    Type.Enum(['2c', '3'], { description: 'Of snmp. 2c: traps. 3, the default: informs, which are acknowledged.' }),
  ),
  community: Type.Optional(Line(255, 'Of snmp version 2c; secret.')),
  authAlgorithm: Type.Optional(
    Type.Enum([...TRAP_AUTH_ALGORITHMS], { description: 'Of snmp version 3; default sha256.' }),
  ),
  authPassphrase: Type.Optional(Line(255, 'Of snmp version 3; secret.')),
  privacyAlgorithm: Type.Optional(
    Type.Enum([...TRAP_PRIVACY_ALGORITHMS], { description: 'Of snmp version 3; default aes.' }),
  ),
  privacyPassphrase: Type.Optional(Line(255, 'Of snmp version 3; without it nothing is encrypted; secret.')),
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

export const AlertWhen = closed(
  {
    type: Type.Enum([...CONDITION_TYPES], {
      description:
        'event: something happens. threshold: a live figure is above or below a value. serverDown: the health checks of a real server fail. certificateEnd: a certificate ends soon. applyWaiting: changes wait for an apply, or an apply for its confirmation. disk: the disk of the state folder fills up. cluster: another node or the witness is not reached, or this node has no quorum.',
    }),
    events: Type.Optional(
      Type.Array(Type.Enum([...EVENT_KINDS], { description: 'Kind, as in GET /events.' }), {
        minItems: 1,
        maxItems: EVENT_KINDS.length,
        uniqueItems: true,
        description: 'Of event: kinds.',
      }),
    ),
    states: Type.Optional(
      Type.Array(Line(64, 'As `state` of the event.'), {
        minItems: 1,
        maxItems: 32,
        uniqueItems: true,
        description: 'Of event: only those that say one of these; all.',
      }),
    ),
    layer: Type.Optional(
      Type.Enum([4, 7], { description: 'Of threshold and serverDown: whose objects; default 7, of serverDown both.' }),
    ),
    object: Type.Optional(
      Type.Enum(['frontend', 'backend', 'server'], { description: 'Of threshold: what the figure is of.' }),
    ),
    metric: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9]{1,64}$',
        description: 'Of threshold: the live figure, such as currentSessions.',
      }),
    ),
    is: Type.Optional(Type.Enum(['above', 'below'], { description: 'Of threshold. Above unless told.' })),
    value: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1e15,
        description:
          'Of threshold: what the figure is compared with. Of certificateEnd: days before the end (default 30). Of disk: percent in use (default 90).',
      }),
    ),
    ids: Type.Optional(
      Type.Array(idOf('Of the object.'), {
        minItems: 1,
        maxItems: 1000,
        uniqueItems: true,
        description: 'Of threshold, serverDown and certificateEnd: only these; all.',
      }),
    ),
    names: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        pattern: '^[^\\u0000-\\u001f\\u007f]+$',
        description: 'Of the same: only those with this name, in which * stands for anything; case does not count.',
      }),
    ),
    waits: Type.Optional(Type.Enum(['apply', 'confirmation'], { description: 'Of applyWaiting: what for; both.' })),
  },
  'What the rule looks for.',
)
export type AlertWhen = Static<typeof AlertWhen>

export const AlertRule = closed({
  id: Id,
  name: Name,
  enabled: Type.Boolean({ description: 'Whether it is looked at; default true.' }),
  severity: Type.Enum([...SEVERITIES], { description: 'How bad it is; default warning.' }),
  when: AlertWhen,
  for: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    description: 'Seconds that it has to be so before anybody is told, 0 to 86400; default 30. Events count at once.',
  }),
  clearFor: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    description:
      'Seconds that it has to be over before it is resolved, so that what comes and goes is told once; default 60.',
  }),
  repeatEvery: Type.Integer({
    minimum: 0,
    maximum: 2_678_400,
    description: 'Seconds after which what still fires is told again, 60 to 2678400; default 14400; 0: never.',
  }),
  resolve: Type.Boolean({ description: 'Whether the end is told; default true.' }),
  targets: Type.Array(refersTo(Id, 'alertTargets'), {
    maxItems: TARGETS_MAX,
    uniqueItems: true,
    description: 'Targets to tell; none: GET /alerts only.',
  }),
})
export type AlertRule = Static<typeof AlertRule>

/** Suppresses alerts that people already know of. */
export const Silence = closed({
  id: Id,
  ruleId: Type.Union([refersTo(Id, 'alertRules'), Type.Null()], { description: 'Alerts of this rule; null: of all.' }),
  objectId: Type.Union([Type.String({ maxLength: 128 }), Type.Null()], {
    description: 'Alerts about the object with this id, as in GET /alerts; null: about all.',
  }),
  objectName: Type.Union([Type.String({ maxLength: 128 }), Type.Null()], {
    description: 'Alerts about objects with this name, in which * stands for anything; null: about all.',
  }),
  reason: Line(500, 'Why.'),
  by: Type.String({ description: 'E-mail of the user who made it.' }),
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
      }
    | undefined
}
