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
        'What is looked at: path (percent-decoded), host (without its port, in lower case), method, source (address of the client), sni (name that TLS asks for), or a header, cookie or query parameter by its name; status is of responses.',
    }),
    match: Type.Optional(
      Type.Enum([...MATCHES], {
        description:
          'How it is compared with the values, one of which has to fit; in is for addresses and networks. Default is.',
      }),
    ),
    name: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_.-]{1,64}$',
        description: 'Of the header, cookie or query parameter; 1 to 64 letters, digits, -, _ and .',
      }),
    ),
    values: Type.Array(Text(512, 'Up to 512 characters, no control characters.'), {
      maxItems: 1000,
      description: 'Up to 1,000. Without any, a header, cookie or query parameter only has to be there.',
    }),
    negate: Type.Optional(Type.Boolean({ description: 'Holds when no value fits.' })),
  },
  'Something of the request, or of the response, and what it is compared with.',
  'Condition',
)
export type Condition = Static<typeof Condition>
export type ConditionType = Condition['type']

/** Returns whether the comparison ignores case. */
export const isCaseless = (type: ConditionType): boolean => type === 'host' || type === 'sni'

const When = closed(
  {
    all: Type.Optional(Type.Array(Condition, { minItems: 1, maxItems: 8, description: 'All of them hold.' })),
    any: Type.Optional(Type.Array(Condition, { minItems: 1, maxItems: 8, description: 'At least one of them holds.' })),
  },
  'When the rule holds: all or any. Left out, it always does.',
  'When',
)
export type When = Static<typeof When>

const Action = closed(
  {
    type: Type.Enum([...ACTIONS], {
      description:
        'backend, redirect, deny, tarpit and respond end the list, and limit does for requests beyond it; after the others it goes on.',
    }),
    backendId: Type.Optional(refersTo(idOf('For backend: the backend that takes the request.'), 'l7Backends')),
    to: Type.Optional(
      Text(
        2048,
        'Of redirect: a URL or path. Of rewritePath: what the path begins with from then on, or, behind a regex, the whole path with \\1 to \\9 for what it has found. Up to 2,048 characters, with {placeholders}.',
      ),
    ),
    status: Type.Optional(
      Type.Integer({
        minimum: 200,
        maximum: 599,
        description: `HTTP status. Of redirect: ${REDIRECTS.join(', ')} (default 302). Of deny and tarpit: ${REFUSALS.join(', ')} (default 403). Of respond: 200 to 599 (default 200).`,
      }),
    ),
    contentType: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9!#$&^_.+-]{1,64}/[A-Za-z0-9!#$&^_.+-]{1,64}(; ?[A-Za-z0-9-]{1,32}=[A-Za-z0-9_.-]{1,64})?$',
        description: 'Of respond, such as text/html; charset=utf-8. Default text/plain.',
      }),
    ),
    body: Type.Optional(pageOf('Of respond. Default none.')),
    name: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{1,64}$',
        description:
          'Of the header or variable, and of limit by header or cookie; 1 to 64 letters, digits, - and _. A variable is {variable.name} in later rules.',
      }),
    ),
    value: Type.Optional(
      Text(
        1024,
        'Of setHeader, addHeader and setVariable, with {placeholders}. Of rewritePath: what the path begins with, or a regular expression. Up to 1,024 characters.',
      ),
    ),
    match: Type.Optional(
      Type.Enum(['begins', 'regex'], { description: 'Of rewritePath: what value is. Default begins.' }),
    ),
    per: Type.Optional(Type.Enum([...LIMITED], { description: 'Of limit: by what requests are counted.' })),
    rate: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'Of limit: requests in the time of over.' }),
    ),
    over: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 86_400, description: 'Of limit: seconds, 1 to 86,400. Default 1.' }),
    ),
    burst: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'Of limit: so many more are let pass. Default 0.' }),
    ),
    answer: Type.Optional(
      Type.Enum([...REFUSALS], { description: 'Of limit: HTTP status for requests beyond it. Default 429.' }),
    ),
  },
  'What is done with a request or response.',
  'Action',
)
export type Action = Static<typeof Action>
export type ActionType = Action['type']

const Rule = closed(
  {
    name: Type.Optional(Text(128, 'For people. Up to 128 characters.')),
    when: Type.Optional(When),
    do: Action,
  },
  'What is done with the requests, or responses, that it holds for.',
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
