import { type TObject, Type } from 'typebox'
import type { ContextOf } from '../../context/context.ts'
import { closed, Name, Owner } from '../../model/fields.ts'
import { SHARED } from '../../model/node.ts'
import { SECTION_NAMES, SECTIONS, type SectionName } from '../../model/sections.ts'
import { documented, type Json, type Kinds, type RecordKind, type SettingsKind } from './kinds.ts'

const NamePattern = Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\u0000-\\u001f\\u007f]{1,256}$' })

const recordsOf = ({ section, fields, records_max }: RecordKind) =>
  Type.Optional(
    Type.Record(NamePattern, fields, {
      maxProperties: records_max,
      description: `Each ${SECTIONS[section].label} by its ${SECTIONS[section].nameField}. Up to ${records_max}.`,
    }),
  )
const settingsOf = ({ section, fields }: SettingsKind) =>
  Type.Optional({ ...fields, description: `The ${SECTIONS[section].label}, all of it; left out, it is not touched.` })

const renamed = ({ records }: Kinds) =>
  closed(
    Object.fromEntries(
      records.map(({ section, nameField }) => [
        section,
        Type.Optional(
          Type.Record(NamePattern, Name, { maxProperties: 1000, description: `New ${nameField} by the old one.` }),
        ),
      ]),
    ),
    'Records that have another name now: what would otherwise be one that goes and one that comes.',
  )

/** Its schema: a configuration, or a part of one, with names in the place of ids. */
export function documentSchema(kinds: Kinds): TObject {
  const { records, syslog, raw } = kinds
  return closed(
    {
      $schema: Type.Optional(Type.String({ maxLength: 1024, description: 'Where its schema is, for editors.' })),
      version: Type.Literal(1, { description: 'Of this form of a document.' }),
      owner: Owner,
      renamed: Type.Optional(renamed(kinds)),
      ...Object.fromEntries(records.map((kind) => [kind.section, recordsOf(kind)])),
      [syslog.section]: settingsOf(syslog),
      [raw.section]: settingsOf(raw),
    },
    'A part of the configuration with names in the place of ids: records by kind and name, with the fields that the API has for them. A field that is left out has its default.',
  )
}

type Named = Readonly<Record<string, Json>>

/** As it was validated. */
export type ConfigDocument = {
  readonly version: 1
  readonly owner?: string
  readonly renamed?: { readonly [N in SectionName]?: Readonly<Record<string, string>> }
} & { readonly [N in SectionName]?: Named }

type Reading = Pick<ContextOf['read'], 'section' | 'may'>

/** Names by id, of each section that is asked for. */
export function namesIn(ctx: Reading): (id: string, sections: readonly string[]) => string {
  const known = new Map<string, ReadonlyMap<string, string>>()
  const namesOf = (section: SectionName) => {
    const names =
      known.get(section) ??
      new Map(
        ctx
          .section(section)
          .list()
          .map((one) => [one.id, nameOf(section, one)]),
      )
    known.set(section, names)
    return names
  }
  return (id, sections) => {
    for (const section of SECTION_NAMES) {
      const name = sections.includes(section) ? namesOf(section).get(id) : undefined
      if (name !== undefined) return name
    }
    // Health checks that are built in have the name that is their id.
    return id
  }
}

export const nameOf = (section: SectionName, record: object): string =>
  String(Reflect.get(record, SECTIONS[section].nameField))

/** The records of one section as they are stored. */
export const stored = (ctx: Reading, section: SectionName): readonly Json[] =>
  ctx.section(section).list() as readonly object[] as readonly Json[]

/**
 * Certificates that a CA renews come and go by themselves: a document that held one would bring an old one back. They
 * are named in it like others.
 */
export function renewed(ctx: Reading): ReadonlySet<unknown> {
  return new Set(
    ctx
      .section('acmeOrders')
      .list()
      .map(({ certificateId }) => certificateId),
  )
}

/** What the candidate holds, as far as the caller may see it, without secrets. */
export function exported(
  ctx: Reading,
  { records, syslog, raw }: Kinds,
  { sections, owner }: { readonly sections: readonly SectionName[]; readonly owner: string | undefined },
): ConfigDocument {
  const nameById = namesIn(ctx)
  const [left, parts] = [renewed(ctx), new Map<string, unknown>()]
  for (const kind of records) {
    if (!sections.includes(kind.section) || !ctx.may(kind.shownBy)) continue
    const told = stored(ctx, kind.section)
      .filter((record) => !left.has(record['id']) && (owner === undefined || (record['owner'] ?? '') === owner))
      .map((record): readonly [string, Json] => [nameOf(kind.section, record), documented(kind, record, nameById)])
      .map(
        ([name, { owner: own, ...fields }]) =>
          [name, own === owner || own === undefined ? fields : { ...fields, owner: own }] as const,
      )
    if (told.length > 0) parts.set(kind.section, Object.fromEntries(told.toSorted(([a], [b]) => (a < b ? -1 : 1))))
  }
  for (const kind of owner === undefined ? [syslog, raw] : []) {
    const isShown = sections.includes(kind.section) && ctx.may(kind.shownBy)
    const record = isShown ? ctx.section(kind.section).find(SHARED) : undefined
    if (record !== undefined) parts.set(kind.section, documented(kind, record as object as Json, nameById))
  }
  return { version: 1, ...(owner ? { owner } : {}), ...Object.fromEntries(parts) }
}
