import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BackupFolder } from '../../../src/backup/folder.ts'
import type { BackupHead } from '../../../src/backup-file/reading.ts'
import { defer } from '../../../src/base/deferred.ts'
import { silentLog } from '../../../src/base/log.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const head = (createdAt: string): BackupHead => ({
  applianceVersion: '0.1.0',
  createdAt,
  nodes: [],
  sections: [],
  isSealed: false,
})

/** A file names its time; `half` is incomplete. */
function fixture(test: Test) {
  const folder = temporaryFolder(test, 'backups')
  let described = 0
  const backups = new BackupFolder(
    folder,
    async (raw) => {
      described += 1
      const text = Buffer.from(raw).toString()
      return text === 'half' ? undefined : head(text)
    },
    silentLog,
  )
  return { folder, backups, described: () => described }
}

const name = (day: number) => `lb-202601${String(day).padStart(2, '0')}-000000.json`

t.test('files are listed newest first, each read at most once', async (test) => {
  const { folder, backups, described } = fixture(test)
  for (const day of [2, 4, 3]) await backups.add(head(`2026-01-0${day}`), [name(day)], [Buffer.from(`2026-01-0${day}`)])
  const listed = async () => (await backups.list()).map(({ file }) => file)
  test.same(await listed(), [name(4), name(3), name(2)])
  test.equal(described(), 0, 'a file just written is known')
  writeFileSync(join(folder, name(1)), '2026-01-01')
  test.same(await listed(), [name(4), name(3), name(2), name(1)])
  test.same(await listed(), [name(4), name(3), name(2), name(1)])
  test.equal(described(), 1)
  await backups.remove(name(1))
  test.equal(await backups.remove(name(3)), true)
  test.equal(await backups.remove(name(3)), false)
  test.same(await listed(), [name(4), name(2)])
})

t.test('incomplete and foreign files are neither listed nor read', async (test) => {
  const { folder, backups } = fixture(test)
  writeFileSync(join(folder, name(1)), 'half')
  writeFileSync(join(folder, 'notes.txt'), 'x')
  symlinkSync('/etc/hostname', join(folder, name(2)))
  test.same(await backups.list(), [])
  for (const file of ['notes.txt', '../config', name(2), name(9)]) {
    test.equal(await backups.read(file), undefined, file)
  }
  test.equal(await backups.remove('notes.txt'), false)
})

t.test('a changed file is read again', async (test) => {
  const { folder, backups } = fixture(test)
  await backups.add(head('2026-01-01'), [name(1)], [Buffer.from('2026-01-01')])
  await backups.list()
  writeFileSync(join(folder, name(1)), 'half')
  test.same(await backups.list(), [])
})

t.test('concurrent callers share one reading, and the next daemon reads none again', async (test) => {
  const { folder, backups, described } = fixture(test)
  for (const day of [1, 2, 3]) writeFileSync(join(folder, name(day)), `2026-01-0${day}`)
  const [first, second] = await Promise.all([backups.list(), backups.list()])
  test.same(first, second)
  test.equal(described(), 3)
  let again = 0
  const next = new BackupFolder(folder, async () => void again++, silentLog)
  test.same(await next.list(), first)
  test.equal(again, 0)
  writeFileSync(join(folder, '.heads.json'), '{"half')
  const careful = new BackupFolder(folder, async (raw) => head(Buffer.from(raw).toString()), silentLog)
  test.same(await careful.list(), first)
})

t.test('a caller after a file was added or deleted does not share the earlier result', async (test) => {
  const folder = temporaryFolder(test, 'backups')
  const [looks, goes] = [defer(), defer()]
  const describe = async () => {
    looks.resolve()
    await goes.promise
    return head('2026-01-01')
  }
  const backups = new BackupFolder(folder, describe, silentLog)
  writeFileSync(join(folder, name(1)), '2026-01-01')
  const early = backups.list()
  await looks.promise
  await backups.add(head('2026-01-02'), [name(2)], [Buffer.from('2026-01-02')])
  const files = async (listing: ReturnType<typeof backups.list>) => (await listing).map(({ file }) => file)
  const late = backups.list()
  test.equal(backups.list(), late, 'concurrent callers still share it')
  goes.resolve()
  test.same(await files(early), [name(1)])
  test.same(await files(late), [name(2), name(1)])
  const before = backups.list()
  await backups.remove(name(1))
  test.same(await files(backups.list()), [name(2)])
  await before
})
