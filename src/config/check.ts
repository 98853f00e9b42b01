import { isDeepStrictEqual } from 'node:util'
import type { ConfigStore, RecordReader } from '../../storage/config/config-store.ts'
import { validatorOf } from '../base/validator.ts'
import { nameKey } from '../base/name-key.ts'
import { SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'
import { verifyReferences } from '../rules/references.ts'
import { asRecord, CLUSTER, configView } from './views.ts'

/** Checks every invariant of the stored configuration. Returns a sentence for each violation; [] if there is none. */
export function checkConfig(store: ConfigStore): readonly string[] {
  return [
    ...checkReader('running', store.running),
    ...checkReader('candidate', store.candidate),
    ...checkChanges(store),
  ]
}

function checkReader(title: string, reader: RecordReader): readonly string[] {
  const dangling = verifyReferences(configView(reader)).map(
    ({ section, id, message }) => `${title}: ${section ?? ''} ${id ?? ''}: ${message}`,
  )
  return [...SECTION_NAMES.flatMap((section) => checkSection(title, reader, section)), ...dangling]
}

function checkSection<N extends SectionName>(title: string, reader: RecordReader, section: N): readonly string[] {
  const { schema, nameField } = SECTIONS[section]
  const validator = validatorOf(schema)
  const names = new Set<string>()
  const problems: string[] = []
  for (const { value } of reader.list(section, CLUSTER)) {
    if (!validator.Check(value)) {
      const [error] = validator.Errors(value)
      problems.push(
        `${title}: a record of ${section} does not match its schema: ${error?.instancePath} ${error?.message}`,
      )
      continue
    }
    const name = nameKey(String(asRecord(section, value)[nameField]))
    if (names.has(name)) problems.push(`${title}: two records of ${section} are named ${name}`)
    names.add(name)
  }
  return problems
}

function checkChanges(store: ConfigStore): readonly string[] {
  const problems: string[] = []
  for (const change of store.staged()) {
    if (isDeepStrictEqual(change.before?.value, change.after?.value)) {
      problems.push(`the pending change of ${change.section} ${change.key} changes nothing`)
    }
  }
  const [latest] = store.revisions(1)
  if ((latest?.revision ?? 0) !== store.revision) {
    problems.push(`the last kept revision is ${latest?.revision ?? 0}, but revision ${store.revision} is running`)
  }
  return problems
}
