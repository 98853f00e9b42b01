import t from 'tap'
import { ACCESS_SECTIONS } from '../../../src/model/access-sections.ts'
import { SECTION_NAMES } from '../../../src/model/sections.ts'
import { BACKUP_SECTIONS } from '../../../src/backup-file/sections.ts'

t.test('the sections of access are those that a backup calls rbac', async (test) => {
  const rbac = BACKUP_SECTIONS.find(({ name }) => name === 'rbac')?.config ?? []
  test.same([...ACCESS_SECTIONS].toSorted(), [...rbac].toSorted())
  for (const section of ACCESS_SECTIONS) test.ok(SECTION_NAMES.includes(section), section)
})
