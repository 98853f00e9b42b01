import t from 'tap'
import { BACKUP_SECTIONS, backupSectionOf } from '../../../src/backup-file/sections.ts'
import { SECTION_NAMES } from '../../../src/model/sections.ts'

t.test('every section of the configuration is in exactly one section of a backup', (test) => {
  test.same(BACKUP_SECTIONS.flatMap(({ config }) => config).toSorted(), SECTION_NAMES.toSorted())
  test.equal(backupSectionOf('l7Backends'), 'layer7proxy')
  test.end()
})

t.test('the specified names come first, in their order; some are restored only with all others', (test) => {
  test.same(
    BACKUP_SECTIONS.slice(0, 10).map(({ name }) => name),
    ['rbac', 'gslb', 'certs', 'layer7proxy', 'fallbackServer', 'clusterha', 'fip', 'healthchecks', 'system', 'licence'],
  )
  test.same(
    BACKUP_SECTIONS.flatMap(({ name, partRestore }) => (partRestore ? [] : [name])),
    ['clusterha', 'system', 'licence'],
  )
  test.end()
})

t.test('every older version can be migrated to the current one', (test) => {
  for (const { name, version, migrations } of BACKUP_SECTIONS) {
    const cameLater = migrations[0] !== undefined
    test.same(
      Object.keys(migrations).map(Number),
      Array.from({ length: version - (cameLater ? 0 : 1) }, (_, at) => at + (cameLater ? 0 : 1)),
      name,
    )
  }
  test.end()
})
