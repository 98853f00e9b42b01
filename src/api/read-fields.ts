import { isDeepStrictEqual } from 'node:util'
import { type TObject, type TSchema, Type } from 'typebox'
import type { Endpoint } from './endpoint.ts'
import { type FieldProblem, refuseFields } from '../base/errors.ts'
import type { Touched } from '../model/sections.ts'
import { confinable } from '../model/confined.ts'
import { Reply } from './reply.ts'

/**
 * An answer may be sent back as a change. The body of a change accepts, beside its own fields, the read-only fields of
 * the record: they are compared with a fresh read, and then dropped.
 */

type Json = Readonly<Record<string, unknown>>
interface Request {
  readonly params: Json
  readonly query: unknown
  readonly body: Json
  readonly accept: string
  readonly headers: Json
}
/** The part that every context has. */
interface Context {
  may(endpoint: string, touched?: Touched): boolean
}
type Handler = (ctx: unknown, request: Request, prepared?: unknown) => unknown

const propertiesOf = (schema: unknown): Readonly<Record<string, TSchema>> | undefined =>
  typeof schema === 'object' && schema !== null ? Reflect.get(schema, 'properties') : undefined

/**
 * Returns where the record is in the answer of a read: the answer itself, its only item, or its only field that is an
 * object.
 */
export function shapeOf(schema: TSchema | undefined) {
  const own = propertiesOf(schema) ?? propertiesOf(Reflect.get(schema ?? {}, 'items')) ?? {}
  const [name = '', ...others] = Object.keys(own)
  const within = others.length === 0 ? propertiesOf(own[name]) : undefined
  return within === undefined ? { fields: own, within: undefined } : { fields: within, within: name }
}

/**
 * Returns the endpoint that reads what the other one changes: the one that it names, the one with the same path, or the
 * list with its record.
 */
export function readingOf(change: Endpoint, table: readonly Endpoint[]): Endpoint | undefined {
  if (change.readBy !== undefined) return table.find(({ name }) => name === change.readBy)
  const at = (path: string) => table.find((other) => other.method === 'GET' && other.path === path)
  return at(change.path) ?? (change.path.endsWith('/{id}') ? at(change.path.slice(0, -'/{id}'.length)) : undefined)
}

const fieldOf = (record: unknown, name: string): unknown => Reflect.get(Object(record), name)

/** Returns the record as a read answers it, as JSON values. */
async function recordRead(reading: Endpoint, ctx: unknown, request: Request): Promise<Json> {
  const result = await (reading.handle as Handler)(ctx, { ...request, query: {}, body: {} })
  const data: unknown = JSON.parse(JSON.stringify((result instanceof Reply ? result.data : result) ?? null))
  const isList = Array.isArray(data) && !reading.path.endsWith('}')
  const one = isList ? data.find((record) => fieldOf(record, 'id') === request.params['id']) : data
  const record: unknown = Array.isArray(one) ? one[0] : one
  const { within } = shapeOf(reading.data)
  return Object(within === undefined ? record : fieldOf(record, within))
}

/** Returns the stored record; undefined for callers that may not read it. */
export async function recordIfSeen(reading: Endpoint, ctx: Context, request: Request): Promise<Json | undefined> {
  if (ctx.may(reading.name)) return await recordRead(reading, ctx, request)
  const section = confinable(reading.name)
  if (section === undefined) return undefined
  const record = await recordRead(reading, ctx, request)
  return ctx.may(reading.name, { section, before: undefined, after: record }) ? record : undefined
}

async function refuseOthers(reading: Endpoint, ctx: Context, request: Request, sent: Json): Promise<void> {
  // Otherwise a caller that may not read the record could find it out by guessing.
  const stored = (await recordIfSeen(reading, ctx, request)) ?? {}
  const still = Object.keys(sent).filter((name) => !reading.moving.includes(name))
  const other = still.filter((name) => !isDeepStrictEqual(sent[name], stored[name]))
  const message = 'is read-only: omit it, or send its current value'
  refuseFields(other.map((field): FieldProblem => ({ field, code: 'READ_ONLY', message })))
}

/** Separates the read-only fields of the record from a body. */
function apart(body: Json, shown: ReadonlySet<string>): { readonly own: Json; readonly sent: Json | undefined } {
  const entries = Object.entries(body)
  const sent = entries.filter(([name]) => shown.has(name))
  if (sent.length === 0) return { own: body, sent: undefined }
  return { own: Object.fromEntries(entries.filter(([name]) => !shown.has(name))), sent: Object.fromEntries(sent) }
}

/** Returns the change with the read-only fields of the record accepted in its body. */
function taking(change: Endpoint, body: TObject, reading: Endpoint): Endpoint {
  const { fields } = shapeOf(reading.data)
  const read = Object.entries(fields).filter(([name]) => !(name in body.properties))
  // A body without a common field changes something else, such as the machine.
  if (read.length === 0 || read.length === Object.keys(fields).length) return change
  const shown = new Set(read.map(([name]) => name))
  const properties = read.map(([name, schema]) => [
    name,
    Type.Optional(Type.Unknown({ readOnly: true, description: String(Reflect.get(schema, 'description')) })),
  ])
  const { prepare, rules } = change
  const ofOwn = (request: Request) => ({ ...request, body: apart(request.body, shown).own })
  return {
    ...change,
    body: { ...body, properties: { ...body.properties, ...Object.fromEntries(properties) } },
    refuses: [...change.refuses, 'READ_ONLY'],
    rules: rules && ((sent: Json, unfit) => rules(apart(sent, shown).own as never, unfit)),
    prepare: prepare && ((ctx: never, request: never) => prepare(ctx, ofOwn(request) as never)),
    handle: (ctx: never, request: never, prepared: never) => {
      const { sent } = apart((request as Request).body, shown)
      const go = () => change.handle(ctx, ofOwn(request) as never, prepared)
      return sent === undefined ? go() : refuseOthers(reading, ctx, request, sent).then(go)
    },
  }
}

/** Returns the table in which every change of a record accepts the answer of its read. */
export const takingWhatIsRead = (table: readonly Endpoint[]): readonly Endpoint[] =>
  table.map((change) => {
    const { body } = change
    if (change.method !== 'PUT' || change.effect === 'apply' || propertiesOf(body) === undefined) return change
    const reading = readingOf(change, table)
    return reading === undefined ? change : taking(change, body as TObject, reading)
  })
