import { isDeepStrictEqual } from 'node:util'
import { type TObject, type TSchema, Type } from 'typebox'
import type { Endpoint } from '../../api/endpoint.ts'
import { headersOf } from '../../health-checks/declarations.ts'
import { closed } from '../../model/fields.ts'
import { SECTIONS, type SectionName } from '../../model/sections.ts'
import { mapReferences, withPlainNames } from '../../api/by-name.ts'

/**
 * What a document of the configuration may hold. Its words are those of the API: a record has the fields that creating
 * it takes, and a field that is left out means the same.
 */

export type Json = Readonly<Record<string, unknown>>

/** Records of one kind in one document: checking them blocks the main thread for a moment. */
const RECORDS_MAX = 5_000

/** What both kinds of records have in common. */
interface Fields {
  readonly section: SectionName
  readonly update: Endpoint
  /** Fields as the API takes them, with ids. */
  readonly sent: TObject
  /** Fields as a document has them, with names. */
  readonly fields: TObject
  /** What is meant by leaving a field out. */
  readonly defaults: Json
  /** Fields that stay what they are when they are left out. */
  readonly kept: readonly string[]
  /** The fields of a stored record, with ids, where they are others than it is made of. */
  readonly ofStored: (stored: Json) => Json
  /** Name of the endpoint that shows these records. */
  readonly shownBy: string
  /** Without what says nothing beside the rest. */
  readonly tidy: (fields: Json) => Json
}

/** Records by their names. */
export interface RecordKind extends Fields {
  /** In one document. */
  readonly records_max: number
  readonly create: Endpoint
  readonly remove: Endpoint
  readonly nameField: string
  /** What may be a name. */
  readonly name: TSchema
}

/** The one record that there is. */
export type SettingsKind = Fields

type More = Partial<Pick<Fields, 'kept' | 'ofStored' | 'tidy'>> & { readonly defaults?: Json; readonly max?: number }

const AS_IT_IS = (value: Json): Json => value

type Table = readonly Endpoint[]

function named(table: Table, name: string): Endpoint {
  const found = table.find((endpoint) => endpoint.name === name)
  if (found === undefined) throw new Error(`there is no endpoint ${name}`)
  return found
}

const propertiesOf = ({ body }: Endpoint): Readonly<Record<string, TSchema>> => Reflect.get(body ?? {}, 'properties')

function fieldsOf(section: SectionName, update: Endpoint, properties: Readonly<Record<string, TSchema>>, more: More) {
  const defaults = { ...update.whenNull, ...more.defaults }
  const { kept = [], ofStored = AS_IT_IS, tidy = AS_IT_IS } = more
  const wanted = Object.entries(properties).map(([name, schema]) => {
    const plain = withPlainNames(schema)
    return [name, name in defaults ? Type.Optional(plain) : plain] as const
  })
  return {
    section,
    update,
    sent: closed(properties),
    fields: closed(Object.fromEntries(wanted)),
    defaults,
    kept,
    ofStored,
    tidy,
  }
}

function records(table: Table, section: SectionName, more: More = {}): RecordKind {
  const endpointOf = (verb: string) => named(table, `${section}.${verb}`)
  const [create, update, remove] = [endpointOf('create'), endpointOf('update'), endpointOf('delete')]
  const { nameField } = SECTIONS[section]
  const { [nameField]: name, ...properties } = propertiesOf(create)
  if (name === undefined) throw new Error(`a record of ${section} is made without its ${nameField}`)
  const shownBy = endpointOf('list').name
  const { max = RECORDS_MAX } = more
  const fields = fieldsOf(section, update, properties, more)
  return { ...fields, shownBy, records_max: max, create, remove, nameField, name }
}

function settings(table: Table, section: SectionName, name: string, more: More = {}): SettingsKind {
  const update = named(table, name)
  const shownBy = named(table, name.replace('.update', '.get')).name
  return { ...fieldsOf(section, update, propertiesOf(update), more), shownBy }
}

/** What may be in a document. */
export interface Kinds {
  /** Each refers to those before it only, so that a name is known when it is looked up. */
  readonly inOrder: readonly (RecordKind | SettingsKind)[]
  readonly records: readonly RecordKind[]
  readonly settings: readonly SettingsKind[]
  /** In the order of a document. */
  readonly sections: readonly SectionName[]
}

export const hasRecords = (kind: RecordKind | SettingsKind): kind is RecordKind => 'create' in kind

/** The kinds, from what the API says of their records. */
export function kindsOf(table: Table): Kinds {
  const own = (section: SectionName, more?: More) => records(table, section, more)
  const inOrder = [
    own('healthChecks', { defaults: { parameters: null }, tidy: withoutOwnParameters, max: 1_000 }),
    own('certificates', { ofStored: ({ chain, owner }) => ({ pem: chain, owner }) }),
    own('cipherLists', { max: 1_000 }),
    own('ipGroups', { kept: ['assignedInterfaces'], max: 1_000 }),
    own('floatingIps'),
    // Operators drain and halt servers while they work on them; a document does not decide that.
    own('realServers', { defaults: { port: null }, kept: ['state'], max: 20_000 }),
    own('l4Backends'),
    own('l7Backends'),
    own('l4Frontends'),
    // Logs of Layer 7 frontends may be forwarded there.
    settings(table, 'syslogServers', 'syslogServer.update', { defaults: { transport: 'tls' } }),
    own('l7Frontends'),
    settings(table, 'l7Raw', 'l7Raw.update'),
  ]
  const kindsWithRecords = inOrder.filter(hasRecords)
  const others = inOrder.filter((kind) => !hasRecords(kind))
  const sections = [...kindsWithRecords, ...others].map(({ section }) => section)
  return { inOrder, records: kindsWithRecords, settings: others, sections }
}

/** Parameters that the script declares itself need not be told. */
function withoutOwnParameters({ parameters, ...others }: Json): Json {
  const inScript = headersOf(String(others['script'])).parameters
  return parameters == null || isDeepStrictEqual(parameters, inScript) ? others : { ...others, parameters }
}

/** Without what goes without saying. Of what is kept when it is left out, the default has to be said. */
export const tidied = (kind: Fields, fields: Json): Json => without(kind, fields, kind.kept)

function without({ defaults, tidy }: Fields, fields: Json, said: readonly string[]): Json {
  const isSilent = (name: string, value: unknown) =>
    value === undefined || (name in defaults && !said.includes(name) && isDeepStrictEqual(value, defaults[name]))
  return Object.fromEntries(Object.entries(tidy(fields)).filter(([name, value]) => !isSilent(name, value)))
}

/** A stored record as a document has it, but for its name; `nameOf` knows the names of others. */
export function documented(
  kind: Fields,
  stored: Json,
  nameOf: (id: string, sections: readonly string[]) => string,
): Json {
  const told = kind.ofStored(stored)
  // In the order in which they are described.
  const fields = Object.keys(kind.sent.properties).flatMap((name) => (name in told ? [[name, told[name]]] : []))
  const reference = (value: unknown, sections: readonly string[]) =>
    typeof value === 'string' && value !== '' ? nameOf(value, sections) : value
  return without(kind, mapReferences(kind.sent, Object.fromEntries(fields), { reference }) as Json, [])
}

/** The fields that differ from the document, whoever owns the record; fields that are kept may be missing in it. */
export function differing({ kept, defaults }: Fields, is: Json, wanted: Json): readonly string[] {
  const isKept = (name: string) => kept.includes(name)
  const old = (name: string) => (isKept(name) && !(name in is) ? defaults[name] : is[name])
  return Object.keys({ ...is, ...wanted }).filter(
    (name) => (name in wanted || !isKept(name)) && !isDeepStrictEqual(old(name), wanted[name]),
  )
}

/** The body of a change of these fields; `body` is what the document wants, with ids. */
export function changing({ update, defaults }: Fields, fields: readonly string[], body: Json): Json {
  const required: readonly string[] = Reflect.get(update.body ?? {}, 'required') ?? []
  const names = new Set([...required.filter((name) => name in body || name in defaults), ...fields])
  return Object.fromEntries(
    [...names].map((name) => [name, name in body ? body[name] : structuredClone(defaults[name])]),
  )
}
