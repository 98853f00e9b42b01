import type { Static, TObject, TSchema, TVoid } from 'typebox'
import { Type } from 'typebox'
import type { ContextOf, Effect } from './context.ts'
import type { FieldProblem } from './refuse.ts'
import type { Reply } from './reply.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

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

/** Limits of what may be worked on at once. */
export interface AtOnce {
  /** In the plural, for who is refused. */
  readonly what: string
  readonly all_max: number
  /** Of one user. */
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
  /** The specification's marker, verbatim. */
  readonly staged: boolean
  readonly access?: Access
  /** Not in the specification, added by decisions.md. */
  readonly extension?: true
  /** The answer holds a secret, such as a private key: never part of a read-only role. */
  readonly reveals?: true
  /** Not served: roles grant it, and other endpoints ask for that right (`ctx.may`). */
  readonly permissionOnly?: true
  /** About the pending changes of everybody: refused inside a transaction, whose edits are none of them. Every apply is. */
  readonly outsideTransactions?: true
  /** 201 for a POST that creates a record, 202 for a job that goes on, 303 where the answer is elsewhere. */
  readonly status?: 200 | 201 | 202 | 303
  /** Takes the body of an HTML form as well: what a browser posts on its way from elsewhere. */
  readonly isForm?: true
  /** Of the body, when more than 1 MiB is wanted. Such a body is parsed in a worker. */
  readonly bodyBytes_max?: number
  /** For what is dear: how many of such requests are worked on at once. More are refused with TOO_MANY_AT_ONCE. */
  readonly atOnce?: AtOnce
  /** The answer is not the JSON envelope: a file, a page, or CSV beside JSON. */
  readonly produces?: readonly string[]
  readonly summary: string
  /** Answered in the envelope; {placeholders} are parameters or data fields. */
  readonly message: string
  /** Lower-case names of the request headers that its handler reads. */
  readonly headers?: readonly string[]
  readonly query?: Q
  readonly body?: B
  /**
   * Rules about single fields that no schema can say. When the body does not fit its schema, they are asked about the
   * fields that do, so that every problem is answered at once; a body that fits is the handler's to judge.
   */
  readonly rules?: (body: Partial<Static<NoInfer<B>>>) => readonly FieldProblem[]
  readonly data?: R
  /** Fields of the envelope beside `data`, such as a count. */
  readonly beside?: TObject
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
  readonly permissionOnly: boolean
  readonly outsideTransactions: boolean
  readonly status: 200 | 201 | 202 | 303
  readonly isForm: boolean
  readonly bodyBytes_max: number | undefined
  readonly atOnce: AtOnce | undefined
  readonly produces: readonly string[]
  readonly summary: string
  readonly message: string
  readonly headers: readonly string[]
  readonly query: TObject | undefined
  readonly body: TSchema | undefined
  readonly rules: ((body: never) => readonly FieldProblem[]) | undefined
  readonly data: TSchema | undefined
  readonly beside: TObject | undefined
  readonly prepare: ((ctx: never, request: never) => Promise<unknown>) | undefined
  readonly handle: (ctx: never, request: never, prepared: never) => unknown
}

/** `data` of the many answers that carry an empty array. */
export const NoData = Type.Array(Type.Never(), { maxItems: 0, description: 'Always empty.' })

/** `data` of a creation. */
export const CreatedId = Type.Object({ id: Type.String({ description: 'Id of the new record.' }) })

export function endpoint<
  E extends Effect,
  const P extends string,
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- a query without parameters
  Q extends TObject = TObject<Record<never, never>>,
  B extends TSchema = TVoid,
  R extends TSchema = TVoid,
  S = undefined,
>(spec: EndpointSpec<E, P, Q, B, R, S>): Endpoint {
  return {
    ...spec,
    access: spec.access ?? 'granted',
    extension: spec.extension ?? false,
    reveals: spec.reveals ?? false,
    permissionOnly: spec.permissionOnly ?? false,
    outsideTransactions: spec.outsideTransactions ?? spec.effect === 'apply',
    status: spec.status ?? 200,
    isForm: spec.isForm ?? false,
    bodyBytes_max: spec.bodyBytes_max,
    atOnce: spec.atOnce,
    produces: spec.produces ?? ['application/json'],
    headers: spec.headers ?? [],
    query: spec.query,
    body: spec.body,
    rules: spec.rules,
    prepare: spec.prepare,
    data: spec.data,
    beside: spec.beside,
  }
}
