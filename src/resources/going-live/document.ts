import { type TObject, Type } from 'typebox'
import type { ContextOf } from '../../context/context.ts'
import { inTurns } from '../../base/turns.ts'
import { closed, Name, Owner } from '../../model/fields.ts'
import { SHARED } from '../../model/node.ts'
import { SECTION_NAMES, SECTIONS, type SectionName } from '../../model/sections.ts'
import { documented, type Json, type Kinds, type RecordKind, type SettingsKind } from './kinds.ts'

const NamePattern = Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\u0000-\\u001f\\u007f]{1,256}$' })

// A record whose name does not match the pattern would not be checked at all, so names have a schema of their own.
const recordsOf = ({ section, fields, records_max, name }: RecordKind) =>
  Type.Optional(
    Type.Record(NamePattern, fields, {
      maxProperties: records_max,
      propertyNames: name,
      description: `Records of kind ${SECTIONS[section].label}, by ${SECTIONS[section].nameField}. Up to ${records_max}.`,
    }),
  )
const settingsOf = ({ section, fields }: SettingsKind) =>
  Type.Optional({ ...fields, description: `Complete ${SECTIONS[section].label}; if omitted, it stays unchanged.` })

const renamed = ({ records }: Kinds) =>
  closed(
    Object.fromEntries(
      records.map(({ section, nameField }) => [
        section,
        Type.Optional(
          Type.Record(NamePattern, Name, {
            maxProperties: 1000,
            propertyNames: NamePattern,
            description: `New ${nameField} by old ${nameField}.`,
          }),
        ),
      ]),
    ),
    'Renamed records, which would otherwise be deleted and created anew.',
  )

/** Returns the schema of a document: a configuration, or a part of one, with names in the place of ids. */
export function documentSchema(kinds: Kinds): TObject {
  const { records, settings } = kinds
  return closed(
    {
      $schema: Type.Optional(Type.String({ maxLength: 1024, description: 'URL of the JSON schema, for editors.' })),
      version: Type.Literal(1, { description: 'Version of the document format.' }),
      owner: Owner,
      renamed: Type.Optional(renamed(kinds)),
      ...Object.fromEntries(records.map((kind) => [kind.section, recordsOf(kind)])),
      ...Object.fromEntries(settings.map((kind) => [kind.section, settingsOf(kind)])),
    },
    'Part of the configuration, with names instead of ids: records by kind and name, with the same fields as in the API. Omitted fields have their default.',
  )
}

type Named = Readonly<Record<string, Json>>

/** A valid document. */
export type ConfigDocument = {
  readonly version: 1
  readonly owner?: string
  readonly renamed?: { readonly [N in SectionName]?: Readonly<Record<string, string>> }
} & { readonly [N in SectionName]?: Named }

type Reading = Pick<ContextOf['read'], 'section' | 'may'>

type ListOf = (section: SectionName) => readonly Json[]

/** Returns a function that finds the name of a record by its id and section. */
export function namesIn(listOf: ListOf): (id: string, sections: readonly string[]) => string {
  const known = new Map<string, ReadonlyMap<string, string>>()
  const namesOf = (section: SectionName) => {
    const names = known.get(section) ?? new Map(listOf(section).map((one) => [String(one['id']), nameOf(section, one)]))
    known.set(section, names)
    return names
  }
  return (id, sections) => {
    for (const section of SECTION_NAMES) {
      const name = sections.includes(section) ? namesOf(section).get(id) : undefined
      if (name !== undefined) return name
    }
    // The name of a built-in health check is its id.
    return id
  }
}

export const nameOf = (section: SectionName, record: object): string =>
  String(Reflect.get(record, SECTIONS[section].nameField))

/** Returns the stored records of one section. */
export const stored = (ctx: Reading, section: SectionName): readonly Json[] =>
  ctx.section(section).list() as readonly object[] as readonly Json[]

/**
 * Returns the ids of certificates that a CA renews. Documents leave them out, as an old document would restore an old
 * certificate; records refer to them by name, as to others.
 */
export function renewed(ctx: Reading): ReadonlySet<unknown> {
  return new Set(
    ctx
      .section('acmeOrders')
      .list()
      .map(({ certificateId }) => certificateId),
  )
}

/** Returns the candidate as far as the caller may see it, without secrets. */
export async function exported(
  ctx: Reading,
  { records, settings }: Kinds,
  { sections, owner }: { readonly sections: readonly SectionName[]; readonly owner: string | undefined },
): Promise<ConfigDocument> {
  // Taken at one moment, because the loop below takes turns.
  const all = new Map(SECTION_NAMES.map((section) => [section, stored(ctx, section)]))
  const listOf: ListOf = (section) => all.get(section) ?? []
  const nameById = namesIn(listOf)
  const [left, parts] = [renewed(ctx), new Map<string, unknown>()]
  const isShown = ({ section, shownBy }: RecordKind | SettingsKind) => sections.includes(section) && ctx.may(shownBy)
  for (const kind of records.filter(isShown)) {
    const told: (readonly [string, Json])[] = []
    await inTurns(listOf(kind.section), (record) => {
      if (left.has(record['id']) || (owner !== undefined && (record['owner'] ?? '') !== owner)) return
      const { owner: own, ...fields } = documented(kind, record, nameById)
      told.push([nameOf(kind.section, record), own === owner || own === undefined ? fields : { ...fields, owner: own }])
    })
    if (told.length > 0) parts.set(kind.section, Object.fromEntries(told.toSorted(([a], [b]) => (a < b ? -1 : 1))))
  }
  for (const kind of owner === undefined ? settings.filter(isShown) : []) {
    const record = listOf(kind.section).find(({ id }) => id === SHARED)
    if (record !== undefined) parts.set(kind.section, documented(kind, record, nameById))
  }
  return { version: 1, ...(owner ? { owner } : {}), ...Object.fromEntries(parts) }
}
