import { createHash } from 'node:crypto'
import t from 'tap'
import { canonical } from '../../../src/base/canonical.ts'
import { backupText, checksumOf } from '../../../src/backup-file/writing.ts'
import { SOME, sourceOf, textOf } from '../../fixtures/backup.ts'
import { realServer } from '../../fixtures/config.ts'

t.test('the checksum is the SHA-256 of everything else in canonical form', (test) => {
  const file = JSON.parse(textOf(sourceOf(SOME)))
  const { checksum, ...rest } = file
  test.equal(checksum, createHash('sha256').update(canonical(rest)).digest('hex'))
  test.equal(checksum, checksumOf(file))
  test.end()
})

t.test('a large configuration is written in portions', (test) => {
  const realServers = Array.from({ length: 2000 }, (_, n) => realServer(`web-${n}`))
  const portions = [...backupText(sourceOf({ realServers }), undefined)]
  test.ok(portions.length > 4)
  test.ok(portions.every((portion) => portion.length < 64 * 1024))
  test.equal(JSON.parse(Buffer.concat(portions).toString()).sections.realServers.data.realServers.length, 2000)
  test.end()
})

t.test('fields without a value are left out', (test) => {
  const record = { ...realServer('web-1'), note: undefined }
  const { sections } = JSON.parse(textOf(sourceOf({ realServers: [record] })))
  test.same(sections.realServers.data.realServers, [realServer('web-1')])
  test.end()
})
