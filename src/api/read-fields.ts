import { isDeepStrictEqual } from 'node:util'
import { type TObject, type TSchema, Type } from 'typebox'
import type { Endpoint } from './endpoint.ts'
import { type FieldProblem, refuseFields } from '../base/errors.ts'
import type { Touched } from '../model/sections.ts'
import { confinable } from '../model/confined.ts'
import { Reply } from './reply.ts'

/**
 * What was read may be sent back. The body of a change takes, beside the fields that it changes, those that its record
 * only shows: they are compared with what a read answers now, and go no further.
 */

type Json = Readonly<Record<string, unknown>>
interface Request {
  readonly params: Json
  readonly query: unknown
  readonly body: Json
  readonly accept: string
  readonly headers: Json
}
/** What every context offers. */
interface Context {
  may(endpoint: string, touched?: Touched): boolean
}
type Handler = (ctx: unknown, request: Request, prepared?: unknown) => unknown

const propertiesOf = (schema: unknown): Readonly<Record<string, TSchema>> | undefined =>
  typeof schema === 'object' && schema !== null ? Reflect.get(schema, 'properties') : undefined

/**
 * Where the record is in what a read answers: the answer itself, its only item, or its only field that is an object.
 */
export function shapeOf(schema: TSchema | undefined) {
  const own = propertiesOf(schema) ?? propertiesOf(Reflect.get(schema ?? {}, 'items')) ?? {}
  const [name = '', ...others] = Object.keys(own)
  const within = others.length === 0 ? propertiesOf(own[name]) : undefined
  return within === undefined ? { fields: own, within: undefined } : { fields: within, within: name }
}

/**
 * The endpoint that reads what the other one changes: the one that it names, the one at the same path, or the list that
 * its record is in.
 */
export function readingOf(change: Endpoint, table: readonly Endpoint[]): Endpoint | undefined {
  if (change.readBy !== undefined) return table.find(({ name }) => name === change.readBy)
  const at = (path: string) => table.find((other) => other.method === 'GET' && other.path === path)
  return at(change.path) ?? (change.path.endsWith('/{id}') ? at(change.path.slice(0, -'/{id}'.length)) : undefined)
}

const fieldOf = (record: unknown, name: string): unknown => Reflect.get(Object(record), name)

/** The record as a read answers it, in the words of JSON. */
async function recordRead(reading: Endpoint, ctx: unknown, request: Request): Promise<Json> {
  const result = await (reading.handle as Handler)(ctx, { ...request, query: {}, body: {} })
  const data: unknown = JSON.parse(JSON.stringify((result instanceof Reply ? result.data : result) ?? null))
  const isList = Array.isArray(data) && !reading.path.endsWith('}')
  const one = isList ? data.find((record) => fieldOf(record, 'id') === request.params['id']) : data
  const record: unknown = Array.isArray(one) ? one[0] : one
  const { within } = shapeOf(reading.data)
  return Object(within === undefined ? record : fieldOf(record, within))
}

/** The stored record, for callers that may read it; undefined for others. */
export async function recordIfSeen(reading: Endpoint, ctx: Context, request: Request): Promise<Json | undefined> {
  if (ctx.may(reading.name)) return await recordRead(reading, ctx, request)
  const section = confinable(reading.name)
  if (section === undefined) return undefined
  const record = await recordRead(reading, ctx, request)
  return ctx.may(reading.name, { section, before: undefined, after: record }) ? record : undefined
}

async function refuseOthers(reading: Endpoint, ctx: Context, request: Request, sent: Json): Promise<void> {
  // A caller that may not read it could otherwise find it out by guessing.
  const stored = (await recordIfSeen(reading, ctx, request)) ?? {}
  const still = Object.keys(sent).filter((name) => !reading.moving.includes(name))
  const other = still.filter((name) => !isDeepStrictEqual(sent[name], stored[name]))
  const message = 'is read only: leave it out, or send it back as it reads now'
  refuseFields(other.map((field): FieldProblem => ({ field, code: 'READ_ONLY', message })))
}

/** Takes the fields out of a body that the record only shows. */
function apart(body: Json, shown: ReadonlySet<string>): { readonly own: Json; readonly sent: Json | undefined } {
  const entries = Object.entries(body)
  const sent = entries.filter(([name]) => shown.has(name))
  if (sent.length === 0) return { own: body, sent: undefined }
  return { own: Object.fromEntries(entries.filter(([name]) => !shown.has(name))), sent: Object.fromEntries(sent) }
}

/** The change, which takes what a read shows beside its own fields. */
function taking(change: Endpoint, body: TObject, reading: Endpoint): Endpoint {
  const { fields } = shapeOf(reading.data)
  const read = Object.entries(fields).filter(([name]) => !(name in body.properties))
  // A body without a field in common changes something else, such as the machine.
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

/** The table in which every change of a record takes back what a read of it shows. */
export const takingWhatIsRead = (table: readonly Endpoint[]): readonly Endpoint[] =>
  table.map((change) => {
    const { body } = change
    if (change.method !== 'PUT' || change.effect === 'apply' || propertiesOf(body) === undefined) return change
    const reading = readingOf(change, table)
    return reading === undefined ? change : taking(change, body as TObject, reading)
  })
