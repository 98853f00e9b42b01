import t from 'tap'
import { knownSections } from '../../../src/backup-file/known-sections.ts'
import { Problems } from '../../../src/backup-file/problems.ts'
import { BACKUP_SECTIONS } from '../../../src/backup-file/sections.ts'

/** A file with these sections, each in the current version unless given. */
function problems(names: readonly string[], versions: Readonly<Record<string, number>> = {}) {
  const found = new Problems()
  const sections = Object.fromEntries(
    names.map((name) => {
      const version = versions[name] ?? BACKUP_SECTIONS.find((one) => one.name === name)?.version ?? 1
      return [name, { version, data: {} }]
    }),
  )
  const known = knownSections({ sections }, BACKUP_SECTIONS, found)
  return { found: found.list.map(({ field, code }) => `${field} ${code}`), known: known.length }
}
const ALL = BACKUP_SECTIONS.map(({ name }) => name)

t.test('every section has to be present, and no other', (test) => {
  test.same(problems(ALL), { found: [], known: ALL.length })
  test.same(problems(ALL.filter((name) => name !== 'certs')).found, ['sections.certs REQUIRED'])
  test.same(problems([...ALL, 'more']).found, ['sections.more SECTION_UNKNOWN'])
  test.same(problems(ALL, { certs: 99 }).found, ['sections.certs.version NEWER_VERSION'])
  test.end()
})

t.test('a later section may be missing only in an older file', (test) => {
  const before = ALL.filter((name) => name !== 'ipvsDirector')
  test.same(problems(before).found, ['sections.ipvsDirector REQUIRED'])
  test.same(problems(before, { healthchecks: 1 }), { found: [], known: before.length })
  test.end()
})
