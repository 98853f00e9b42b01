import type { Problems } from './problems.ts'
import type { BackupSection, SectionData } from './sections.ts'

/** The sections of a file, as far as its outline shows them. */
interface SectionsOfFile {
  readonly sections: Readonly<Record<string, { readonly version: number; readonly data: object }>>
}

export interface KnownSection {
  readonly section: BackupSection
  readonly version: number
  readonly data: SectionData
}

/** Returns whether the file was written before this section existed. */
function isBefore(file: SectionsOfFile, { cameWith }: BackupSection): boolean {
  const sibling = cameWith === undefined ? undefined : file.sections[cameWith.name]
  return cameWith !== undefined && sibling !== undefined && sibling.version < cameWith.version
}

/** Returns the sections that this version knows, each in a version that it can read; reports all others. */
export function knownSections(
  file: SectionsOfFile,
  sections: readonly BackupSection[],
  problems: Problems,
): readonly KnownSection[] {
  const names = new Set(sections.map(({ name }) => name))
  for (const name of Object.keys(file.sections)) {
    if (!names.has(name)) problems.add(`sections.${name}`, 'SECTION_UNKNOWN', 'is not a section of a backup')
  }
  return sections.flatMap((section) => {
    const stored = file.sections[section.name]
    const field = `sections.${section.name}`
    if (stored === undefined) {
      if (!isBefore(file, section)) problems.add(field, 'REQUIRED', 'is missing')
      return []
    }
    if (stored.version > section.version) {
      const message = `is ${stored.version}; this version reads up to ${section.version}: update before restoring it`
      problems.add(`${field}.version`, 'NEWER_VERSION', message)
    }
    return [{ section, version: stored.version, data: { ...stored.data } }]
  })
}
