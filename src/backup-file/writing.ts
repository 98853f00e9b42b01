import { createHash } from 'node:crypto'
import type { SectionContents } from '../model/sections.ts'
import { canonical, canonicalParts } from '../base/canonical.ts'
import { Seal, type SealingKey } from './sealing.ts'
import { BACKUP_SECTIONS, type BackupSection } from './sections.ts'

export const FORMAT = 1

/** Characters written at a time, which take a fifth of a millisecond. */
const PORTION_CHARS = 16_384
/** File, sections, section, data, list: these are written in parts, records as a whole. */
const RECORDS_DEPTH = 5

export interface BackupNode {
  readonly id: string
  readonly hostname: string
}

/** The contents of a backup. Records are never changed in place, so it is stable while it is written. */
export interface BackupSource {
  readonly applianceVersion: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly nodes: readonly BackupNode[]
  readonly contents: SectionContents
  /** Data of sections other than records, by name. */
  readonly beside: Readonly<Record<string, unknown>>
}

/**
 * Yields the text of a backup file in portions; some are empty, because encrypted text is complete only at the end of
 * its section. The text is canonical, except that the checksum of all the rest comes last.
 */
export function* backupText(
  source: BackupSource,
  key: SealingKey | undefined,
  sections: readonly BackupSection[] = BACKUP_SECTIONS,
): Generator<Uint8Array, void> {
  const hash = createHash('sha256')
  let text = ''
  for (const part of body(source, key, sections)) {
    text += part
    // An empty portion means that work was done although none of it can be passed on yet.
    if (part !== '' && text.length < PORTION_CHARS) continue
    const bytes = Buffer.from(text)
    hash.update(bytes)
    text = ''
    yield bytes
  }
  hash.update(text)
  yield Buffer.from(`${text},"checksum":"${hash.update('}').digest('hex')}"}`)
}

/** Yields everything except the closing brace. */
function* body(
  { applianceVersion, createdAt, nodes, contents, beside }: BackupSource,
  key: SealingKey | undefined,
  sections: readonly BackupSection[],
): Generator<string, void> {
  const head = canonical({ applianceVersion, createdAt, format: FORMAT, nodes })
  yield `${head.slice(0, -1)},"sections":{`
  const sorted = sections.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  for (const [at, section] of sorted.entries()) {
    yield `${at > 0 ? ',' : ''}${JSON.stringify(section.name)}:{"data":`
    const data = dataParts(section, contents, beside)
    yield* key === undefined ? data : sealed(section, data, key)
    yield `,"version":${section.version}}`
  }
  yield '}'
}

function* dataParts(
  { config, beside: names }: BackupSection,
  contents: SectionContents,
  beside: BackupSource['beside'],
): Generator<string, void> {
  const fields = [
    ...config.map((name) => [name, contents[name] ?? []] as const),
    ...names.map((name) => [name, beside[name]] as const),
  ]
  yield '{'
  for (const [at, [name, value]] of fields.sort(([a], [b]) => (a < b ? -1 : 1)).entries()) {
    yield `${at > 0 ? ',' : ''}${JSON.stringify(name)}:`
    if (!Array.isArray(value)) yield canonical(value)
    else yield* listParts(value)
  }
  yield '}'
}

function* listParts(records: readonly unknown[]): Generator<string, void> {
  yield '['
  for (const [at, record] of records.entries()) yield `${at > 0 ? ',' : ''}${canonical(record)}`
  yield ']'
}

function* sealed({ name, version }: BackupSection, data: Iterable<string>, key: SealingKey): Generator<string, void> {
  const seal = new Seal(key, name, version)
  let text = ''
  for (const part of data) {
    text += part
    if (text.length < PORTION_CHARS) continue
    seal.add(text)
    text = ''
    yield ''
  }
  seal.add(text)
  const { facts, texts } = seal.end()
  yield `{"encrypted":${canonical(facts).slice(0, -1)},"text":"`
  yield* texts.filter((part) => part !== '')
  yield '"}}'
}

/** Returns the checksum of a parsed file. */
export function checksumOf(file: object): string {
  const hash = createHash('sha256')
  const { checksum: _, ...rest } = { checksum: undefined, ...file }
  canonicalParts(rest, RECORDS_DEPTH, (part) => hash.update(part))
  return hash.digest('hex')
}
