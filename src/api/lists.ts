import { type TObject, Type } from 'typebox'
import { ApiError } from '../base/errors.ts'
import { nameKey } from '../base/name-key.ts'
import { type Each, fillMessage, Reply } from './reply.ts'

/**
 * Lists of records: a single one by name, those that contain a text, or in pages. The next page begins after the last
 * record of this one: whatever is created or deleted meanwhile, no other record is missed or repeated.
 */

/** The rules of a list endpoint. */
export interface ListRules {
  /** Fields that `q` searches beside the id: dotted paths, also through lists. `name` is compared with the first. */
  readonly searched: readonly string[]
  /** Number of records without a `limit`; undefined for all. */
  readonly usual?: number
  /** Returns the text by which records are ordered; undefined for the id. */
  readonly key?: (record: never) => string
  /**
   * Whether the list is short and in another order than that of its keys: the next page begins after the record with
   * the key.
   */
  readonly hasOwnOrder?: true
}

export const PAGE_DEFAULT = 100
const PAGE_MAX = 1_000

interface ListAsked {
  readonly name?: string
  readonly q?: string
  readonly limit?: number
  readonly after?: string
}

/** Returns the parameters of endpoints with pages; `usual` records without a limit. */
export const pageParameters = (usual: number | undefined) => ({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PAGE_MAX,
      ...(usual === undefined ? {} : { default: usual }),
      description: `Maximum number of entries, 1 to ${PAGE_MAX}; default ${usual ?? 'all'}.`,
    }),
  ),
  after: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'Value of `next` from the previous page; if omitted, the first page.',
    }),
  ),
})

/** Returns the query's schema: the list parameters and the endpoint's own. */
export function listQuery(rules: ListRules, own: TObject | undefined): TObject {
  const { searched } = rules
  const [named = 'id', ...others] = searched
  const properties = {
    ...own?.properties,
    name: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: `Only records with this ${named}, not case-sensitive.`,
      }),
    ),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: `Only records that contain this text, not case-sensitive, in ${['id', named, ...others].join(', ')}.`,
      }),
    ),
    ...pageParameters(rules.usual),
  }
  return Type.Object(properties, { additionalProperties: false })
}

/** Returns the schema of the fields beside the data of a list. */
export const listBeside = (own: TObject | undefined): TObject =>
  Type.Object({
    ...own?.properties,
    next: Type.Optional(Type.String({ description: 'Value of `after` for the next page; absent on the last page.' })),
  })

/** A list as a handler returns it: plain, with a function for each record, or as the only field of its data. */
interface Whole {
  readonly each: Each
  /** Name of that field. */
  readonly within: string | undefined
  readonly beside: Readonly<Record<string, unknown>>
}

const asIs = (record: unknown) => record

function wholeOf(result: unknown): Whole {
  const [data, each, beside] =
    result instanceof Reply ? [result.data as unknown, result.each, result.beside] : [result, undefined, {}]
  if (each !== undefined) return { each, within: undefined, beside }
  if (Array.isArray(data)) return { each: { records: data, told: asIs }, within: undefined, beside }
  const [[within, records] = ['', undefined]] = Object.entries(Object(data))
  if (!Array.isArray(records)) throw new Error('a list endpoint answers a list')
  return { each: { records, told: asIs }, within, beside }
}

interface Listing {
  readonly name: string
  readonly message: string
  readonly list: ListRules
}

/** Returns the answer for the part of a handler's list that the query selects. */
export function answerList(
  listing: Listing,
  result: unknown,
  params: Readonly<Record<string, string>>,
  asked: ListAsked,
): unknown {
  const { list } = listing
  const limit = asked.limit ?? list.usual
  const isWhole = limit === undefined && (asked.after ?? asked.name ?? asked.q) === undefined
  // Nearly all callers request the whole list.
  if (isWhole && !(result instanceof Reply && result.each !== undefined)) return result
  const { each, within, beside } = wholeOf(result)
  const { page, next } = pageOf(listing, each.records, { ...asked, limit })
  const around = next === undefined ? beside : { ...beside, next }
  if (within !== undefined) return Reply.with({ [within]: page.map(each.told) }, { beside: around })
  return inSlices(fillMessage(listing.message, params, undefined), { ...each, records: page }, around)
}

function pageOf(
  { name, list }: Listing,
  records: readonly unknown[],
  {
    limit = Number.POSITIVE_INFINITY,
    after,
    ...wanted
  }: Omit<ListAsked, 'limit'> & { readonly limit: number | undefined },
): { readonly page: readonly unknown[]; readonly next: string | undefined } {
  const keyOf = (list.key ?? idOf) as (record: unknown) => string
  const isWanted = wantedBy(list, wanted)
  const last = after === undefined ? undefined : readPlace(name, after)
  const page: unknown[] = []
  const isOwn = list.hasOwnOrder === true && last !== undefined
  for (const record of isOwn ? recordsBehind(records, (one) => keyOf(one) === last) : records) {
    if ((!isOwn && last !== undefined && keyOf(record) <= last) || !isWanted(record)) continue
    if (page.length === limit) return { page, next: placeBehind(name, keyOf(page.at(-1))) }
    page.push(record)
  }
  return { page, next: undefined }
}

function recordsBehind(records: readonly unknown[], isLast: (record: unknown) => boolean): readonly unknown[] {
  const at = records.findIndex(isLast)
  return at === -1 ? refusePlace() : records.slice(at + 1)
}

const idOf = (record: unknown): string => String(Reflect.get(Object(record), 'id'))

/** Examines tens of thousands of records in one turn, so it allocates nothing per record. */
function wantedBy({ searched }: ListRules, { name, q }: ListAsked): (record: unknown) => boolean {
  const [named = [], ...others] = searched.map((path) => path.split('.'))
  const looked = [['id'], named, ...others]
  const wanted = name === undefined ? undefined : nameKey(name)
  // Takes a fifth of the time of lower-casing each text.
  const part = q === undefined ? undefined : new RegExp(q.replaceAll(/[\^$\\.*+?()[\]{}|/]/g, String.raw`\$&`), 'iu')
  const isNamed = (text: string) => nameKey(text) === wanted
  const holdsPart = (text: string) => part?.test(text) === true
  return (record) =>
    (wanted === undefined || someText(record, named, 0, isNamed)) &&
    (part === undefined || looked.some((path) => someText(record, path, 0, holdsPart)))
}

function someText(value: unknown, path: readonly string[], at: number, fits: (text: string) => boolean): boolean {
  if (typeof value === 'string') return at === path.length && fits(value)
  if (Array.isArray(value)) return value.some((one) => someText(one, path, at, fits))
  const name = path[at]
  if (name === undefined || typeof value !== 'object' || value === null) return false
  return someText(Reflect.get(value, name), path, at + 1, fits)
}

/** A position contains the name of its list, so that positions of other lists are refused. */
const placeBehind = (list: string, key: string) => Buffer.from(`${list} ${key}`).toString('base64url')

function readPlace(list: string, after: string): string {
  const text = Buffer.from(after, 'base64url').toString()
  const key = text.slice(list.length + 1)
  return placeBehind(list, key) === after ? key : refusePlace()
}

function refusePlace(): never {
  const message = 'is not a `next` value of this list'
  throw new ApiError('INVALID_QUERY', `The query has 1 problem: after ${message}`, {
    errors: [{ field: 'after', code: 'FORMAT', message }],
  })
}

/** Records rendered in one turn of the event loop: about a millisecond. */
const SLICE = 200

/**
 * Answers a short list at once, and a long one in slices, so that other requests are served in between. The records are
 * those of this moment; each is rendered when its turn comes.
 */
function inSlices(message: string, each: Each, beside: Reply<unknown>['beside']): Reply<unknown> {
  if (each.records.length <= SLICE) return Reply.with(each.records.map(each.told), { beside })
  return Reply.bytes({ body: '', contentType: 'application/json', slices: () => slices(message, each, beside) })
}

function* slices(message: string, { records, told }: Each, beside: Reply<unknown>['beside']) {
  let text = `{"status":"success","message":${JSON.stringify(message)},"data":[`
  for (let from = 0; from < records.length; from += SLICE) {
    const part = records.slice(from, from + SLICE).map((record) => JSON.stringify(told(record)))
    yield Buffer.from(`${text}${from === 0 ? '' : ','}${part.join(',')}`)
    text = ''
  }
  const behind = Object.entries(beside).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
  yield Buffer.from(`]${behind.join('')}}`)
  return undefined
}
