import { Type, type Static } from 'typebox'
import { closed, refersTo, idOf } from './fields.ts'
import { pageOf } from './l7-settings.ts'

/** Rules of Layer 7: conditions and actions. Which fields go with which kind is checked in src/rules. */

const CONDITIONS = ['path', 'host', 'method', 'header', 'cookie', 'query', 'source', 'sni', 'status'] as const
const MATCHES = ['is', 'begins', 'ends', 'contains', 'regex', 'in'] as const
const ACTIONS = [
  'backend',
  'redirect',
  'deny',
  'tarpit',
  'respond',
  'limit',
  'setHeader',
  'addHeader',
  'removeHeader',
  'rewritePath',
  'setVariable',
] as const
const LIMITED = ['source', 'header', 'path', 'cookie'] as const
export const REFUSALS = [400, 401, 403, 404, 405, 410, 429, 500, 502, 503, 504] as const
export const REDIRECTS = [301, 302, 303, 307, 308] as const

/** One line of text that HAProxy can hold as a word. */
const Text = (maxLength: number, description: string) =>
  Type.String({ maxLength, pattern: '^[^\\u0000-\\u001f\\u007f]*$', description })

const Condition = closed(
  {
    type: Type.Enum([...CONDITIONS], {
      description:
        'What is compared: path (percent-decoded), host (without port, in lower case), method, source (client address), sni (server name in the TLS handshake), or a header, cookie or query parameter by its name; status is for responses.',
    }),
    match: Type.Optional(
      Type.Enum([...MATCHES], {
        description:
          'How it is compared with the values, one of which must match; in is for addresses and networks. Default is.',
      }),
    ),
    name: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_.-]{1,64}$',
        description: 'Name of the header, cookie or query parameter; 1 to 64 letters, digits, -, _ and .',
      }),
    ),
    values: Type.Array(Text(512, 'Up to 512 characters, no control characters.'), {
      maxItems: 1000,
      description:
        'Values, up to 1,000. Without any, it is enough that the header, cookie or query parameter is present.',
    }),
    negate: Type.Optional(Type.Boolean({ description: 'Inverts the condition: it holds if no value matches.' })),
  },
  'Part of the request or response, and the values to compare it with.',
  'Condition',
)
export type Condition = Static<typeof Condition>
export type ConditionType = Condition['type']

/** Returns whether the comparison ignores case. */
export const isCaseless = (type: ConditionType): boolean => type === 'host' || type === 'sni'

const When = closed(
  {
    all: Type.Optional(
      Type.Array(Condition, { minItems: 1, maxItems: 8, description: 'All of these conditions must hold.' }),
    ),
    any: Type.Optional(
      Type.Array(Condition, { minItems: 1, maxItems: 8, description: 'At least one of these conditions must hold.' }),
    ),
  },
  'When the rule applies: all or any. If omitted, always.',
  'When',
)
export type When = Static<typeof When>

const Action = closed(
  {
    type: Type.Enum([...ACTIONS], {
      description:
        'backend, redirect, deny, tarpit and respond end the processing of rules, limit only for requests over the limit; after the others, the next rule follows.',
    }),
    backendId: Type.Optional(refersTo(idOf('For backend: the backend that receives the request.'), 'l7Backends')),
    to: Type.Optional(
      Text(
        2048,
        'For redirect: a URL or path. For rewritePath: the new beginning of the path or, with match regex, the whole new path with \\1 to \\9 for the captured groups. Up to 2,048 characters, with {placeholders}.',
      ),
    ),
    status: Type.Optional(
      Type.Integer({
        minimum: 200,
        maximum: 599,
        description: `HTTP status. For redirect: ${REDIRECTS.join(', ')} (default 302). For deny and tarpit: ${REFUSALS.join(', ')} (default 403). For respond: 200 to 599 (default 200).`,
      }),
    ),
    contentType: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}(; ?[A-Za-z0-9-]{1,32}=[A-Za-z0-9_.-]{1,64})?$',
        description: 'For respond: content type, such as text/html; charset=utf-8. Default text/plain.',
      }),
    ),
    body: Type.Optional(pageOf('For respond: body of the answer. Default none.')),
    name: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        description:
          'Name of the header or variable, and for limit of the header or cookie; 1 to 64 letters, digits, - and _. Later rules refer to a variable as {variable.name}.',
      }),
    ),
    value: Type.Optional(
      Text(
        1024,
        'For setHeader, addHeader and setVariable: the value, with {placeholders}. For rewritePath: the beginning of the path to replace, or a regular expression. Up to 1,024 characters.',
      ),
    ),
    match: Type.Optional(
      Type.Enum(['begins', 'regex'], {
        description: 'For rewritePath: how value is compared with the path. Default begins.',
      }),
    ),
    per: Type.Optional(
      Type.Enum([...LIMITED], {
        description: 'For limit: what requests are counted by; a path percent-decoded, as in conditions.',
      }),
    ),
    rate: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'For limit: requests allowed within over.' }),
    ),
    over: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400,
        description: 'For limit: period in seconds, 1 to 86,400. Default 1.',
      }),
    ),
    burst: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1_000_000,
        description: 'For limit: additional requests allowed in a burst. Default 0.',
      }),
    ),
    answer: Type.Optional(
      Type.Enum([...REFUSALS], { description: 'For limit: HTTP status for requests over the limit. Default 429.' }),
    ),
  },
  'What to do with a request or response.',
  'Action',
)
export type Action = Static<typeof Action>
export type ActionType = Action['type']

const Rule = closed(
  {
    name: Type.Optional(Text(128, 'Name for display. Up to 128 characters.')),
    when: Type.Optional(When),
    do: Action,
  },
  'What to do with the requests or responses that the rule applies to.',
  'Rule',
)
export type Rule = Static<typeof Rule>

const RULES_MAX = 2_000

/** A list whose order counts and that is replaced as a whole. */
export const rulesOf = (description: string) =>
  Type.Optional(
    Type.Array(Rule, {
      maxItems: RULES_MAX,
      description: `${description} Up to 2,000, in order.`,
    }),
  )

/** Returns the conditions of a rule: none if it always holds. */
export const conditionsOf = ({ when }: Rule): readonly Condition[] => when?.all ?? when?.any ?? []

/** Returns the backends to which a frontend sends requests: by its rules, in their order, and by default. */
export function backendsOf({
  rules = [],
  defaultBackendId,
}: {
  readonly rules?: readonly Rule[]
  readonly defaultBackendId: string | null
}): readonly string[] {
  const chosen = rules.flatMap(({ do: { type, backendId } }) =>
    type === 'backend' && backendId !== undefined ? [backendId] : [],
  )
  return [...new Set(defaultBackendId === null ? chosen : [...chosen, defaultBackendId])]
}
