import t from 'tap'
import { describeBackup, openBackup } from '../../../workers/compute/backup-file.ts'
import { SOME, sourceOf, textOf } from '../../backup-fixture.ts'

t.test('a file is described without its records, and opened with them', (test) => {
  const raw = Buffer.from(textOf(sourceOf(SOME)))
  test.same(Object.keys(describeBackup(raw)), ['head'])
  test.match(openBackup({ raw, passphrase: undefined }), { contents: SOME })
  test.match(describeBackup(raw.subarray(1)), { problems: [{ code: 'NOT_A_BACKUP' }] })
  const twice = Buffer.from(`{"createdAt":"2001-01-01T00:00:00Z",${raw.toString().slice(1)}`)
  test.match(describeBackup(twice), { problems: [{ code: 'NOT_A_BACKUP', message: /a name twice/ }] })
  test.end()
})
