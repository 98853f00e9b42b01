import { type TObject, type TSchema, Type } from 'typebox'
import type { Endpoint } from './endpoint.ts'
import { ApiError } from '../base/errors.ts'
import type { Touched } from '../model/sections.ts'
import { confinable } from '../model/confined.ts'
import { recordIfSeen, shapeOf } from './read-fields.ts'
import { Reply } from './reply.ts'

/** A caller that creates a record may request the record itself in the answer, as a read would answer it. */

const WantedReturn = Type.Optional(
  Type.Enum(['record'], { description: 'record: returns the whole record, as a read would; if omitted, only its id.' }),
)

type Json = Readonly<Record<string, unknown>>
interface Request {
  readonly params: Readonly<Record<string, string>>
  readonly query: { readonly return?: 'record' }
  readonly body: Json
  readonly accept: string
  readonly headers: Json
}
interface Context {
  may(endpoint: string, touched?: Touched): boolean
}

/** Returns the endpoint that reads the record, unless it reveals secrets: those are read only on purpose. */
function readingOf({ path }: Endpoint, table: readonly Endpoint[]): Endpoint | undefined {
  const at = (wanted: string) => table.find((other) => other.method === 'GET' && other.path === wanted)
  const one = at(`${path}/{id}`)
  return one === undefined || one.reveals ? at(path) : one
}

function withRecord(data: TSchema | undefined, reading: Endpoint): TSchema {
  const own: unknown = Reflect.get(data ?? {}, 'properties')
  const record = Object.entries(shapeOf(reading.data).fields).map(([name, schema]) => [name, Type.Optional(schema)])
  const all = Type.Object({ ...Object.fromEntries(record), ...(own as TObject['properties'] | undefined) })
  return own === undefined ? Type.Optional(all) : all
}

function returning(create: Endpoint, reading: Endpoint): Endpoint {
  const { prepare, handle, query } = create
  const refuse = (): never => {
    throw new ApiError('PERMISSION_DENIED', `return=record needs the right to ${reading.method} ${reading.path}`)
  }
  // Whether a confined right covers the record is known only once it is created.
  const assertMay = (ctx: Context) => {
    if (!ctx.may(reading.name) && confinable(reading.name) === undefined) refuse()
  }
  const withIt = async (ctx: Context, request: Request, prepared: never): Promise<unknown> => {
    assertMay(ctx)
    const made = await handle(ctx as never, request as never, prepared)
    const reply = made instanceof Reply ? made : Reply.with(made, {})
    const data = Object(reply.data)
    const id = reply.created ?? String(Object.values(data)[0])
    const record = await recordIfSeen(reading, ctx, { ...request, params: { ...request.params, id } })
    if (record === undefined) return refuse()
    return Reply.with({ ...record, ...data }, reply)
  }
  return {
    ...create,
    query: Type.Object({ ...query?.properties, return: WantedReturn }, { additionalProperties: false }),
    data: withRecord(create.data, reading),
    prepare:
      prepare &&
      ((ctx: never, request: never) => {
        if ((request as Request).query.return !== undefined) assertMay(ctx)
        return prepare(ctx, request)
      }),
    handle: (ctx: never, request: never, prepared: never) =>
      (request as Request).query.return === undefined ? handle(ctx, request, prepared) : withIt(ctx, request, prepared),
  }
}

/** Returns the table in which every creation of a record can answer with the record. */
export const returningWhatIsMade = (table: readonly Endpoint[]): readonly Endpoint[] =>
  table.map((create) => {
    if (create.method !== 'POST' || create.effect !== 'stage' || create.status !== 201) return create
    const reading = readingOf(create, table)
    return reading === undefined ? create : returning(create, reading)
  })
