import { type Static, type TObject, type TSchema, type TVoid, Type } from 'typebox'
import type { ContextOf, Effect } from '../context/context.ts'
import { type ErrorCode, type FieldProblem, refuseFields } from '../base/errors.ts'
import { type WhenNull, withNulls, withoutNulls } from './null-fields.ts'
import { answerList, listBeside, listQuery, type ListRules } from './lists.ts'
import type { Reply } from './reply.ts'
import { contradictions, inOneSpelling, type Spellings } from './spellings.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export type AnsweredByAny = 'for members' | 'for any id' | 'in transactions'

/** `granted`: a role of the user must grant it (the default). `authenticated`: any valid session. `public`: anyone. */
export type Access = 'public' | 'authenticated' | 'granted'

export type ParamNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

export interface Request<P extends string, Q, B> {
  readonly params: Readonly<Record<ParamNames<P>, string>>
  readonly query: Q
  readonly body: B
  /** Value of the Accept header; '' when absent, or when the endpoint produces one type only. */
  readonly accept: string
  /** The headers that the endpoint names; '' for an absent one. */
  readonly headers: Readonly<Record<string, string>>
}

/** How what every node has becomes one answer: its entries in the order of a time, or its events as they come. */
export type OfNodes = ListOfNodes | 'stream'

export interface ListOfNodes {
  /** Field of an entry, ISO 8601. */
  readonly time: string
  /** As many entries as this parameter of the query says, at the most. */
  readonly limit?: { readonly parameter: string; readonly usual: number }
  /** Parameters about numbers that each node gives by itself: refused with `all`. */
  readonly ofOne?: readonly string[]
}

export const nodeParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'Id of the node that answers, or `all`: every node of the cluster. The node that is asked.',
  }),
)

/** For endpoints about a single node. */
export const oneNodeParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'Id of the node that answers. The node that is asked.',
  }),
)

/** Limits of what may be worked on at once. */
export interface AtOnce {
  /** Plural noun for the refusal. */
  readonly what: string
  readonly all_max: number
  /** Per user. */
  readonly each_max: number
}

/** The whole truth of one endpoint. Router, validation, OpenAPI, rights and the contract tests are derived from it. */
export interface EndpointSpec<
  E extends Effect,
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  S,
> {
  /** `resource.verb`, unique; the OpenAPI operation id. */
  readonly name: string
  readonly method: Method
  /** Relative to /api/v1. A path with {applianceId} is answered by that node. */
  readonly path: P
  /** What really happens; selects what the handler is given. */
  readonly effect: Effect & E
  /** The specification's marker, where it says something else than the effect: it marks some that act at once. */
  readonly staged?: boolean
  readonly access?: Access
  /** Not in the specification, added by decisions.md. */
  readonly extension?: true
  /** The answer holds a secret, such as a private key: never part of a read-only role. */
  readonly reveals?: true
  /**
   * Granted by role, and the answer is the same for every caller until figures, names of objects or somebody's rights
   * change: it is answered from memory (record 160).
   */
  readonly isSameForAll?: true
  /** About what the caller came with, an API token included, which has no account otherwise. */
  readonly ofAnyCaller?: true
  /** Not served: roles grant it, and other endpoints ask for that right (`ctx.may`). */
  readonly permissionOnly?: true
  /**
   * Concerns the pending changes of everybody, and is refused inside a transaction, whose edits are not among them. So
   * is every apply.
   */
  readonly outsideTransactions?: true
  /** Changes the machine or its configuration: refused by a daemon that only watches a HAProxy of somebody else. */
  readonly managedOnly?: true
  /**
   * The node that is asked answers, even if the path names another node, which may be away or removed.
   * `in transactions`: only for requests with a transaction, whose node answers; see `nodeFacts` for what it asks the
   * other one.
   */
  readonly answeredByAny?: AnsweredByAny
  /** About the open transaction itself: answered by the node that holds it. Says where the request names it. */
  readonly transactionIn?: 'path' | 'body'
  /**
   * Each node has its own: `?node=` names the node that answers, or `all`. Its query has that parameter, see
   * `nodeParameter`. `one`: nothing that several have, see `oneNodeParameter`.
   */
  readonly ofNodes?: OfNodes | 'one'
  /**
   * If-Match is compared with the record that it changes, which a read answers with an ETag. What stages changes of a
   * record does so without saying it; every other request with an If-Match is refused.
   */
  readonly comparesRevision?: boolean
  /** 201 for a POST that creates a record, 202 for a job that goes on, 303 where the answer is elsewhere. */
  readonly status?: 200 | 201 | 202 | 303
  /** Answers 202 instead where a job goes on. */
  readonly mayGoOn?: true
  /** Answers 303 instead where a browser goes on to the admin page. */
  readonly maySendOn?: true
  /** A browser that is refused is sent to the admin page, which says why. Programs get the refusal itself. */
  readonly refusedAtPage?: true
  /** Takes the body of an HTML form as well: what a browser posts on its way from elsewhere. */
  readonly isForm?: true
  /** Limit of the body, if more than 1 MiB is needed. Such a body is parsed in a worker. */
  readonly bodyBytes_max?: number
  /** For what is dear: how many of such requests are worked on at once. More are refused with TOO_MANY_AT_ONCE. */
  readonly atOnce?: AtOnce
  /** The answer is not the JSON envelope: a file, a page, or CSV beside JSON. */
  readonly produces?: readonly string[]
  /** The answer carries a tag of its bytes: a request that names it in If-None-Match gets 304. */
  readonly isTagged?: true
  /** Headers of the answer beside those that follow from the rest. */
  readonly sends?: readonly string[]
  /** What it refuses with, beside the codes that follow from the rest (refusal-codes.ts). */
  readonly refuses?: readonly ErrorCode[]
  readonly summary: string
  /** What it does on the machine, where the summary does not say it: a sentence without its full stop. */
  readonly about?: string
  /** Answered in the envelope; {placeholders} are parameters or data fields. */
  readonly message: string
  /** Lower-case names of the request headers that its handler reads. */
  readonly headers?: readonly string[]
  readonly query?: Q
  readonly body?: B
  /** At least one field of each group is required. A schema would refuse without naming the fields. */
  readonly needsOneOf?: readonly (readonly (keyof Static<NoInfer<B>> & string)[])[]
  /**
   * Rules about single fields that no schema can say. When the body does not fit its schema, they are asked about the
   * fields that do, so that every problem is answered at once; a body that fits is the handler's to judge. `unfit` has
   * the names of the others: those were sent, and are not missing.
   */
  readonly rules?: (body: Partial<Static<NoInfer<B>>>, unfit: ReadonlySet<string>) => readonly FieldProblem[]
  /**
   * The optional fields that null clears, each with what it is then: what a record has that was made without the field.
   */
  readonly whenNull?: { readonly [K in keyof Static<NoInfer<B>>]?: Static<NoInfer<B>>[K] }
  /**
   * Fields that are taken by another name as well, which stands first: its handler sees the second one. Both are
   * refused when they say different things.
   */
  readonly spellings?: {
    readonly [K in keyof Static<NoInfer<B>>]?: keyof Static<NoInfer<B>> & string
  }
  /**
   * The name of the endpoint that reads what this one changes, where it is at no path of which that follows: what it
   * answers may be sent back.
   */
  readonly readBy?: string
  /** Fields of a reading that go on by themselves: sent back, they are taken as they are. */
  readonly moving?: readonly string[]
  readonly data?: R
  /** Instead of the envelope: the schema of a JSON answer that has none. */
  readonly whole?: TSchema
  /** Fields of the envelope beside `data`, such as a count. */
  readonly beside?: TObject
  /** Its data is a list of records, of which it answers some: the query has `name`, `q`, `limit` and `after`. */
  readonly list?: ListRules
  /** What takes its time, such as reading a file: before the turn to edit, for which everybody else would wait. */
  readonly prepare?: (ctx: ContextOf['read'], request: Request<P, Static<Q>, Static<B>>) => Promise<S>
  readonly handle: (
    ctx: ContextOf[E],
    request: Request<P, Static<Q>, Static<B>>,
    prepared: S,
  ) => Static<R> | Reply<Static<R>> | Promise<Static<R> | Reply<Static<R>>>
}

/** An endpoint with its types erased, as the table holds it. */
export interface Endpoint {
  readonly name: string
  readonly method: Method
  readonly path: string
  readonly effect: Effect
  readonly access: Access
  readonly staged: boolean
  readonly extension: boolean
  readonly reveals: boolean
  readonly ofAnyCaller: boolean
  readonly permissionOnly: boolean
  readonly outsideTransactions: boolean
  readonly managedOnly: boolean
  readonly answeredByAny: AnsweredByAny | undefined
  readonly transactionIn: 'path' | 'body' | undefined
  readonly ofNodes: OfNodes | 'one' | undefined
  readonly comparesRevision: boolean
  readonly status: 200 | 201 | 202 | 303
  readonly mayGoOn: boolean
  readonly maySendOn: boolean
  readonly refusedAtPage: boolean
  readonly isForm: boolean
  readonly bodyBytes_max: number | undefined
  readonly atOnce: AtOnce | undefined
  readonly produces: readonly string[]
  readonly isTagged: boolean
  readonly isSameForAll: boolean
  readonly sends: readonly string[]
  readonly refuses: readonly ErrorCode[]
  readonly summary: string
  readonly about: string | undefined
  readonly message: string
  readonly headers: readonly string[]
  readonly query: TObject | undefined
  readonly body: TSchema | undefined
  readonly needsOneOf: readonly (readonly string[])[]
  readonly rules: ((body: never, unfit: ReadonlySet<string>) => readonly FieldProblem[]) | undefined
  readonly whenNull: WhenNull
  readonly spellings: Spellings
  readonly readBy: string | undefined
  readonly moving: readonly string[]
  readonly data: TSchema | undefined
  readonly whole: TSchema | undefined
  readonly beside: TObject | undefined
  readonly list: ListRules | undefined
  readonly prepare: ((ctx: never, request: never) => Promise<unknown>) | undefined
  readonly handle: (ctx: never, request: never, prepared: never) => unknown
}

/** `data` of the many answers that carry an empty array. */
export const NoData = Type.Array(Type.Never(), { maxItems: 0, description: 'Always empty.' })

/** `data` of a creation. */
export const CreatedId = Type.Object(
  { id: Type.String({ description: 'Id of the new record.' }) },
  { title: 'CreatedId' },
)

const DEFAULTS = {
  access: 'granted',
  extension: false,
  reveals: false,
  ofAnyCaller: false,
  permissionOnly: false,
  managedOnly: false,
  answeredByAny: undefined,
  transactionIn: undefined,
  ofNodes: undefined,
  status: 200,
  mayGoOn: false,
  maySendOn: false,
  refusedAtPage: false,
  isForm: false,
  bodyBytes_max: undefined,
  atOnce: undefined,
  produces: ['application/json'],
  isTagged: false,
  isSameForAll: false,
  sends: [],
  refuses: [],
  about: undefined,
  headers: [],
  query: undefined,
  body: undefined,
  needsOneOf: [],
  rules: undefined,
  spellings: {},
  readBy: undefined,
  moving: [],
  prepare: undefined,
  data: undefined,
  whole: undefined,
  beside: undefined,
  list: undefined,
} as const satisfies Partial<Endpoint>

export function endpoint<
  E extends Effect,
  const P extends string,
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- a query without parameters
  Q extends TObject = TObject<Record<never, never>>,
  B extends TSchema = TVoid,
  R extends TSchema = TVoid,
  S = undefined,
>(spec: EndpointSpec<E, P, Q, B, R, S>): Endpoint {
  const outsideTransactions = spec.effect === 'apply'
  const staged = spec.effect.startsWith('stage')
  const comparesRevision = staged && spec.method !== 'POST'
  return listing(
    clearing(spelled({ ...DEFAULTS, whenNull: {}, outsideTransactions, staged, comparesRevision, ...spec })),
  )
}

/** The endpoint that answers of its list what the query asks for. */
function listing(made: Endpoint): Endpoint {
  const { list, name, message, query, beside, handle } = made
  if (list === undefined) return made
  const answer = (result: unknown, { params, query: asked }: Request<'/{id}', object, unknown>) =>
    answerList({ name, message, list }, result, params, asked)
  return {
    ...made,
    query: listQuery(list, query),
    beside: listBeside(beside),
    handle: (ctx: never, request: never, prepared: never) => {
      const result = handle(ctx, request, prepared)
      return result instanceof Promise ? result.then((late) => answer(late, request)) : answer(result, request)
    },
  }
}

/** The endpoint with a handler that sees one spelling of each field. */
function spelled(made: Endpoint): Endpoint {
  const { spellings, rules, prepare, handle } = made
  if (Object.keys(spellings).length === 0) return made
  const problems = (sent: Sent, unfit: ReadonlySet<string>): readonly FieldProblem[] => [
    ...contradictions(sent, spellings),
    ...(rules?.(inOneSpelling(sent, spellings) as never, unfit) ?? []),
  ]
  const clear = (request: { readonly body: Sent }): never => {
    if (contradictions(request.body, spellings).length > 0) refuseFields(problems(request.body, new Set()))
    return { ...request, body: inOneSpelling(request.body, spellings) } as never
  }
  return {
    ...made,
    rules: problems,
    prepare: prepare && ((ctx: never, request: never) => prepare(ctx, clear(request))),
    handle: (ctx: never, request: never, prepared: never) => handle(ctx, clear(request), prepared),
  }
}

type Sent = Readonly<Record<string, unknown>>

/** The endpoint with a body in which null clears fields; its handler sees what null stands for. */
function clearing(made: Endpoint): Endpoint {
  const { body, whenNull, rules, prepare, handle } = made
  if (body === undefined || Object.keys(whenNull).length === 0) return made
  const cleared = (request: { readonly body: WhenNull }): never =>
    ({ ...request, body: withoutNulls(request.body, whenNull) }) as never
  return {
    ...made,
    body: withNulls(body as TObject, whenNull),
    rules: rules && ((sent: WhenNull, unfit) => rules(withoutNulls(sent, whenNull) as never, unfit)),
    prepare: prepare && ((ctx: never, request: never) => prepare(ctx, cleared(request))),
    handle: (ctx: never, request: never, prepared: never) => handle(ctx, cleared(request), prepared),
  }
}
