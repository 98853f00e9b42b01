import { type Static, type TObject, type TSchema, type TVoid, Type } from 'typebox'
import type { ContextOf, Effect } from '../context/context.ts'
import { type ErrorCode, type FieldProblem, refuseFields } from '../base/errors.ts'
import { type WhenNull, withNulls, withoutNulls } from './null-fields.ts'
import { answerList, listBeside, listQuery, type ListRules } from './lists.ts'
import type { Reply } from './reply.ts'
import { contradictions, inOneSpelling, type Spellings } from './spellings.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export type AnsweredByAny = 'for members' | 'for any id' | 'in transactions'

/** `granted` (the default): a role of the user must grant it. `authenticated`: any valid session. `public`: anyone. */
export type Access = 'public' | 'authenticated' | 'granted'

export type ParamNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

export interface Request<P extends string, Q, B> {
  readonly params: Readonly<Record<ParamNames<P>, string>>
  readonly query: Q
  readonly body: B
  /** Value of the Accept header; '' if it is absent, or if the endpoint produces a single type. */
  readonly accept: string
  /** The headers that the endpoint names; '' for an absent one. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * How the entries of all nodes become one answer: a list in the order of a time, or a stream of events as they come.
 */
export type OfNodes = ListOfNodes | 'stream'

export interface ListOfNodes {
  /** Field of an entry, ISO 8601. */
  readonly time: string
  /** The query parameter with the maximum number of entries. */
  readonly limit?: { readonly parameter: string; readonly usual: number }
  /** Parameters with numbers that each node assigns itself: refused with `all`. */
  readonly ofOne?: readonly string[]
}

export const nodeParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description:
      'Id of the answering node, or `all` for every node of the cluster. Default: the node that receives the request.',
  }),
)

/** The parameter of endpoints about a single node. */
export const oneNodeParameter = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'Id of the answering node. Default: the node that receives the request.',
  }),
)

/** Limits of the requests in progress. */
export interface AtOnce {
  /** Plural noun for the refusal. */
  readonly what: string
  readonly all_max: number
  /** Limit per user. */
  readonly each_max: number
}

/**
 * The complete definition of one endpoint. Router, validation, OpenAPI, rights and the contract tests are derived from
 * it.
 */
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
  /** Relative to /api/v1. The node in {applianceId} answers. */
  readonly path: P
  /** The actual effect; determines the handler's context. */
  readonly effect: Effect & E
  /**
   * The specification's marker, where it differs from the effect: some endpoints that act at once are marked as staged.
   */
  readonly staged?: boolean
  readonly access?: Access
  /** Whether it is not in the specification, but added by decisions.md. */
  readonly extension?: true
  /** Whether the answer holds a secret, such as a private key: then it is never part of a read-only role. */
  readonly reveals?: true
  /**
   * Whether it is granted by role and answers the same to every caller, until figures, names of objects or rights
   * change: then it is answered from memory (record 160).
   */
  readonly isSameForAll?: true
  /** Whether it concerns the caller's own credential, which may be an API token without an account. */
  readonly ofAnyCaller?: true
  /** Whether it is not served: roles grant it, and other endpoints check that right (`ctx.may`). */
  readonly permissionOnly?: true
  /**
   * Whether it concerns everybody's pending changes, and is refused inside a transaction, whose edits are not among
   * them. True for every apply.
   */
  readonly outsideTransactions?: true
  /** Whether it changes the machine or its configuration: refused by a daemon that only observes a HAProxy. */
  readonly managedOnly?: true
  /**
   * Set if the node that receives the request answers even if the path names another node, which may be away or
   * removed. `in transactions`: only for requests with a transaction, whose node answers; see `nodeFacts` for what it
   * asks the named node.
   */
  readonly answeredByAny?: AnsweredByAny
  /**
   * Set if it concerns the open transaction itself and is answered by the node that holds it; says where the request
   * names the transaction.
   */
  readonly transactionIn?: 'path' | 'body'
  /**
   * Set if each node has its own records: `?node=` names the node that answers, or `all`. The query needs that
   * parameter, see `nodeParameter`. `one`: several nodes cannot be combined, see `oneNodeParameter`.
   */
  readonly ofNodes?: OfNodes | 'one'
  /**
   * Whether If-Match is compared with the record that it changes, whose ETag a read returns. The default for endpoints
   * that stage changes of a record; every other request with an If-Match is refused.
   */
  readonly comparesRevision?: boolean
  /** 201 for a POST that creates a record, 202 for a job that continues, 303 if the answer is elsewhere. */
  readonly status?: 200 | 201 | 202 | 303
  /** Whether it answers 202 instead if a job continues. */
  readonly mayGoOn?: true
  /** Whether it answers 303 instead to send a browser on to the admin page. */
  readonly maySendOn?: true
  /**
   * Whether a refused browser is redirected to the admin page, which shows the reason. Programs get the refusal itself.
   */
  readonly refusedAtPage?: true
  /** Whether it also accepts an HTML form, which a browser posts on its way from elsewhere. */
  readonly isForm?: true
  /** Limit of the body, if it may exceed 1 MiB. Such a body is parsed in a worker. */
  readonly bodyBytes_max?: number
  /** For expensive requests: how many may be in progress. More are refused with TOO_MANY_AT_ONCE. */
  readonly atOnce?: AtOnce
  /** Content types, if the answer is not the JSON envelope: a file, a page, or CSV beside JSON. */
  readonly produces?: readonly string[]
  /** Whether the answer has an ETag of its bytes, and If-None-Match is answered with 304. */
  readonly isTagged?: true
  /** Further headers of the answer that do not follow from the other fields. */
  readonly sends?: readonly string[]
  /** Codes of its refusals that do not follow from the other fields (refusal-codes.ts). */
  readonly refuses?: readonly ErrorCode[]
  readonly summary: string
  /** The effect on the machine, if the summary does not say it: a sentence without its full stop. */
  readonly about?: string
  /** Message of the envelope; {placeholders} are parameters or data fields. */
  readonly message: string
  /** Lower-case names of the request headers that its handler reads. */
  readonly headers?: readonly string[]
  readonly query?: Q
  readonly body?: B
  /** At least one field of each group is required. A schema would refuse without naming the fields. */
  readonly needsOneOf?: readonly (readonly (keyof Static<NoInfer<B>> & string)[])[]
  /**
   * Rules about single fields that no schema can express. If the body does not match its schema, they are applied to
   * the fields that do, so that every problem is reported at once; a valid body is judged by the handler. `unfit` names
   * the other fields: those were sent, and are not missing.
   */
  readonly rules?: (body: Partial<Static<NoInfer<B>>>, unfit: ReadonlySet<string>) => readonly FieldProblem[]
  /** The optional fields that null clears, each with the value it gets: that of a record created without the field. */
  readonly whenNull?: { readonly [K in keyof Static<NoInfer<B>>]?: Static<NoInfer<B>>[K] }
  /**
   * Fields with a second accepted name: the key is the alternative, the value the name that the handler sees. Both are
   * refused if their values differ.
   */
  readonly spellings?: {
    readonly [K in keyof Static<NoInfer<B>>]?: keyof Static<NoInfer<B>> & string
  }
  /**
   * Name of the endpoint that reads what this one changes, if that does not follow from its path: its answer may be
   * sent back.
   */
  readonly readBy?: string
  /** Fields of that answer that change without an edit: they are accepted with any value. */
  readonly moving?: readonly string[]
  readonly data?: R
  /** The schema of a JSON answer without the envelope. */
  readonly whole?: TSchema
  /** Fields of the envelope beside `data`, such as a count. */
  readonly beside?: TObject
  /** Set if its data is a list of records, of which the query selects some with `name`, `q`, `limit` and `after`. */
  readonly list?: ListRules
  /** Slow preparation, such as reading a file: done before the turn to edit, for which all other editors would wait. */
  readonly prepare?: (ctx: ContextOf['read'], request: Request<P, Static<Q>, Static<B>>) => Promise<S>
  readonly handle: (
    ctx: ContextOf[E],
    request: Request<P, Static<Q>, Static<B>>,
    prepared: S,
  ) => Static<R> | Reply<Static<R>> | Promise<Static<R> | Reply<Static<R>>>
}

/** An endpoint with erased types, as the table holds it. */
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

/** `data` of the many answers with an empty array. */
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

/** Returns the endpoint with an answer that contains only the part of its list that the query selects. */
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

/** Returns the endpoint with a handler that sees one spelling of each field. */
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

/** Returns the endpoint with a body in which null clears fields; its handler sees the values that null stands for. */
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
