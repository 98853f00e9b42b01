import { Type, type Static } from 'typebox'
import { verifyAlerts } from '../rules/alerts.ts'
import { verifyNames } from '../rules/names.ts'
import { verifyReferences } from '../rules/references.ts'
import type { FieldError } from '../base/errors.ts'
import { closed, Id } from '../model/fields.ts'
import { type SectionContents, type SectionName, SECTIONS } from '../model/sections.ts'
import { contentsView } from './contents-view.ts'
import { Problems } from './problems.ts'
import { Sealed, Unsealer } from './sealing.ts'
import { type KnownSection, knownSections } from './known-sections.ts'
import { BACKUP_SECTIONS, type BackupSection, type SectionData } from './sections.ts'
import { type BackupNode, checksumOf, FORMAT } from './writing.ts'
import { reasonOf } from '../base/reason.ts'

/** The head of a file, which contains no secret. */
export interface BackupHead {
  readonly applianceVersion: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly nodes: readonly BackupNode[]
  readonly sections: readonly { readonly name: string; readonly version: number }[]
  readonly isSealed: boolean
}

/** A file without problems. `contents` is undefined if the file is sealed and no passphrase was given. */
export interface ReadBackup {
  readonly head: BackupHead
  readonly contents: SectionContents | undefined
}

/** A valid file with its records. */
export interface OpenBackup extends ReadBackup {
  readonly contents: SectionContents
}

export type BackupRead = ReadBackup | { readonly problems: readonly FieldError[] }

const Head = closed({
  format: Type.Integer({ minimum: 1 }),
  createdAt: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,6})?Z$' }),
  applianceVersion: Type.String({ maxLength: 64 }),
  nodes: Type.Array(closed({ id: Id, hostname: Type.String({ maxLength: 253 }) }), { minItems: 1, maxItems: 64 }),
  sections: Type.Record(
    Type.String({ maxLength: 64 }),
    closed({ version: Type.Integer({ minimum: 1 }), data: Type.Object({}) }),
  ),
  checksum: Type.String({ pattern: '^[0-9a-f]{64}$' }),
})
type File = Static<typeof Head>

const EncryptedData = closed({ encrypted: Sealed })

/** Parses untrusted JSON; undefined if it is invalid, or nested too deeply. */
export type Parse = (raw: Uint8Array) => { readonly value: unknown } | undefined

/** Checks a file completely: form, checksum, versions, each record, names and references. Pure and slow. */
export function readBackup(
  raw: Uint8Array,
  passphrase: string | undefined,
  parse: Parse,
  sections: readonly BackupSection[] = BACKUP_SECTIONS,
): BackupRead {
  const problems = new Problems()
  const parsed = parse(raw)
  if (parsed === undefined) problems.add('', 'NOT_A_BACKUP', 'is not valid JSON, has a duplicate name, or is too large')
  const file = parsed === undefined ? undefined : wholeFile(parsed.value, problems)
  if (file === undefined) return { problems: problems.list }
  const known = knownSections(file, sections, problems)
  const isSealed = known.some(({ data }) => 'encrypted' in data)
  if (isSealed && !known.every(({ data }) => 'encrypted' in data)) {
    problems.add('sections', 'NOT_A_BACKUP', 'some are encrypted and some are not')
  }
  if (isSealed && problems.list.length === 0) checkSealing(known, problems)
  const unsealer = passphrase === undefined ? undefined : new Unsealer(passphrase, parse)
  const contents = problems.list.length > 0 ? undefined : contentsOf(sections, known, isSealed, unsealer, problems)
  if (problems.list.length > 0) return { problems: problems.list }
  const { applianceVersion, createdAt, nodes } = file
  const listed = known.map(({ section: { name }, version }) => ({ name, version }))
  return { head: { applianceVersion, createdAt, nodes, sections: listed, isSealed }, contents }
}

function wholeFile(parsed: unknown, problems: Problems): File | undefined {
  if (typeof parsed !== 'object' || parsed === null || !('format' in parsed && 'checksum' in parsed)) {
    problems.add('', 'NOT_A_BACKUP', 'is not a backup file')
    return undefined
  }
  if (typeof parsed.format === 'number' && parsed.format > FORMAT) {
    const message = `is ${parsed.format}; this version reads up to ${FORMAT}: update before restoring it`
    problems.add('format', 'NEWER_VERSION', message)
    return undefined
  }
  if (parsed.checksum !== checksumOf(parsed)) {
    problems.add('checksum', 'CHECKSUM_MISMATCH', 'does not match the file: it is damaged or was modified')
    return undefined
  }
  if (hasSpecialName(parsed)) problems.add('', 'NOT_A_BACKUP', `has a field named ${SPECIAL}`)
  if (problems.list.length > 0 || !problems.fit(Head, '', parsed)) return undefined
  // Sound: it matches the schema.
  const file = parsed as File
  if (Number.isNaN(Date.parse(file.createdAt))) problems.add('createdAt', 'FORMAT', 'is not a date and time')
  for (const [at, { id }] of file.nodes.entries()) {
    const isAgain = file.nodes.findIndex((node) => node.id === id) < at
    if (isAgain) problems.add(`nodes.${at}.id`, 'ID_NOT_UNIQUE', 'is the id of another node')
  }
  return file
}

/**
 * Refused wherever it occurs, because assigning to it changes an object itself. Parameters of health checks may have
 * the names of other built-in properties.
 */
const SPECIAL = '__proto__'

function hasSpecialName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (!Array.isArray(value) && Object.hasOwn(value, SPECIAL)) return true
  return Object.values(value).some(hasSpecialName)
}

/** One key must open all sections: deriving a key takes a second, and the author of the file could name many. */
function checkSealing(known: readonly KnownSection[], problems: Problems): void {
  const keys = new Set<string>()
  for (const { section, data } of known) {
    if (!problems.fit(EncryptedData, `sections.${section.name}.data`, data)) continue
    // Sound: it matches the schema.
    const { salt, n } = (data as Static<typeof EncryptedData>).encrypted
    keys.add(`${n} ${salt}`)
  }
  if (keys.size > 1) problems.add('sections', 'NOT_A_BACKUP', 'are not all encrypted with the same key')
}

/** Returns the records of all sections; undefined if that needs the passphrase. */
function contentsOf(
  sections: readonly BackupSection[],
  known: readonly KnownSection[],
  isSealed: boolean,
  unsealer: Unsealer | undefined,
  problems: Problems,
): SectionContents | undefined {
  const contents: { [N in SectionName]?: readonly unknown[] } = {}
  for (const { section, version, data } of known) {
    const field = `sections.${section.name}.data`
    const plain = isSealed ? unsealed({ section, version, data }, unsealer, field, problems) : data
    // No further section can be read either.
    if (plain === undefined) break
    const migrated = migratedData(section, version, plain, problems)
    if (migrated !== undefined) Object.assign(contents, recordsOf(section, migrated, field, problems))
  }
  if ((isSealed && unsealer === undefined) || problems.list.length > 0) return undefined
  for (const section of sections) {
    if (known.some((one) => one.section === section)) continue
    Object.assign(contents, recordsOf(section, migratedData(section, 0, {}, problems) ?? {}, section.name, problems))
  }
  // Sound: each record matches the schema of its section.
  const read = contents as SectionContents
  const view = contentsView(read)
  for (const problem of [...verifyReferences(view), ...verifyNames(view), ...verifyAlerts(view)]) {
    problems.add(`${problem.section}.${problem.id}.${problem.field}`, 'CONFLICT', problem.message)
  }
  return read
}

function unsealed(
  { section: { name }, version, data }: KnownSection,
  unsealer: Unsealer | undefined,
  field: string,
  problems: Problems,
): SectionData | undefined {
  if (unsealer === undefined) return undefined
  // Sound: checkSealing has found that it matches.
  const opened = unsealer.open(name, version, (data as Static<typeof EncryptedData>).encrypted)
  if (opened === undefined) {
    problems.add('X-Backup-Passphrase', 'PASSPHRASE_WRONG', 'is not the passphrase of this backup')
  } else if (isObject(opened.value) && !hasSpecialName(opened.value)) return { ...opened.value }
  else problems.add(field, 'NOT_A_BACKUP', 'contains no section of a backup')
  return undefined
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function migratedData(
  { name, version: current, migrations }: BackupSection,
  from: number,
  data: SectionData,
  problems: Problems,
): SectionData | undefined {
  let migrated = data
  try {
    for (let version = from; version < current; version += 1) {
      const next = migrations[version]
      if (next === undefined) throw new Error(`there is no conversion from version ${version}`)
      migrated = next(migrated)
    }
    return migrated
  } catch (error) {
    const message = `cannot be read as version ${from}: ${reasonOf(error)}`
    problems.add(`sections.${name}.data`, 'INVALID', message)
    return undefined
  }
}

/** Returns the records in the data, each of which matches its schema. */
function recordsOf(
  { config, beside }: BackupSection,
  data: SectionData,
  field: string,
  problems: Problems,
): Readonly<Record<string, readonly unknown[]>> {
  const known = new Set<string>([...config, ...beside])
  for (const name of Object.keys(data)) {
    if (!known.has(name)) problems.add(`${field}.${name}`, 'UNKNOWN', 'is not part of this section')
  }
  return Object.fromEntries(
    config.flatMap((name) => {
      const list = data[name]
      if (!Array.isArray(list)) {
        problems.add(`${field}.${name}`, 'TYPE', 'must be a list of records')
        return []
      }
      const ids = new Set<unknown>()
      for (const [at, record] of list.entries()) {
        if (problems.isFull) break
        const place = `${field}.${name}.${at}`
        if (!problems.fit(SECTIONS[name].schema, place, record)) continue
        const id: unknown = Reflect.get(record, 'id')
        if (ids.has(id)) problems.add(`${place}.id`, 'ID_NOT_UNIQUE', 'is the id of another record')
        ids.add(id)
      }
      return [[name, list]]
    }),
  )
}
