import { readFileSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { AuditLog } from '../../../storage/audit/audit-log.ts'
import { checkAudit } from '../../../storage/audit/check.ts'
import { SEARCH_BEGUN, searchAudit } from '../../../storage/audit/search.ts'
import { firstOf, segmentsIn } from '../../../storage/audit/segments.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { noSmallDisk, smallDisk } from '../../fixtures/small-disk.ts'

const entry = (n: number) => ({ at: `2026-01-02T03:04:${String(n % 60).padStart(2, '0')}.000Z`, n })

/** Returns the lines without the reserved space after them. */
const linesIn = (path: string): string => readFileSync(path, 'utf8').replace(/\0+$/, '')

t.test('entries that wait together are one write, in order, and only root reads them', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  let heads = 0
  const log = new AuditLog(folder, { onHead: () => heads++ })
  await Promise.all(Array.from({ length: 100 }, (_, n) => log.append(entry(n))))
  test.equal(heads, 1)
  await log.append(entry(100))
  await log.close()
  test.same(
    searchAudit(folder, { limit: 3 }, SEARCH_BEGUN).found.map(({ seq, n }) => [seq, n]),
    [
      [101, 100],
      [100, 99],
      [99, 98],
    ],
  )
  test.same(checkAudit(folder, { ...log.head, first: 1 }), [])
  test.equal(statSync(segmentsIn(folder)[0] ?? '').mode & 0o777, 0o600)
})

t.test('it continues after its end; an unfinished entry of a crash is removed', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const first = new AuditLog(folder)
  await first.append(entry(0))
  await first.close()
  const [path = ''] = segmentsIn(folder)
  const whole = linesIn(path)
  writeFileSync(path, `${whole}{"seq":2,"at":"20`)
  const second = new AuditLog(folder)
  test.equal(second.problem, undefined)
  test.equal(linesIn(path), whole)
  await second.append(entry(1))
  await second.close()
  test.same(checkAudit(folder, { ...second.head, first: 1 }), [])
  test.equal(segmentsIn(folder).length, 1)
})

t.test('killed at every byte of a write, it opens with the complete entries', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const log = new AuditLog(folder)
  await log.append(entry(0))
  await log.append(entry(1))
  await log.close()
  const [path = ''] = segmentsIn(folder)
  const content = Buffer.from(linesIn(path))
  const firstLine = content.indexOf(10) + 1
  for (let length = content.length; length >= 0; length -= 7) {
    writeFileSync(path, content.subarray(0, length))
    const again = new AuditLog(folder)
    test.equal(again.head.seq, length === content.length ? 2 : length >= firstLine ? 1 : 0, `${length} bytes`)
    await again.append(entry(9))
    await again.close()
    test.same(checkAudit(folder, { ...again.head, first: 1 }), [])
  }
})

t.test(
  'segments are bounded in size and number; what goes was noted before, what went otherwise is missed',
  async (test) => {
    const folder = temporaryFolder(test, 'audit')
    let first = 1
    const bounds = { segmentBytes_max: 1000, segments_max: 3 }
    const log = new AuditLog(folder, {
      ...bounds,
      beforeDrop: async (oldest) => {
        test.ok(firstOf(segmentsIn(folder)[0] ?? '') < oldest, 'it is still there')
        first = oldest
      },
    })
    for (let n = 0; n < 60; n++) await log.append(entry(n))
    await log.close()
    test.equal(segmentsIn(folder).length, 3)
    const known = { ...log.head, first }
    test.same(checkAudit(folder, known), [])
    const again = new AuditLog(folder, { ...bounds, known })
    test.equal(again.problem, undefined)
    test.same(again.head, log.head)
    await again.close()
    rmSync(segmentsIn(folder)[0] ?? '')
    test.match(checkAudit(folder, known), [/are missing/])
    test.match(new AuditLog(folder, { ...bounds, known }).problem, /were modified/)
  },
)

t.test('lines removed from the beginning of the oldest file are noticed', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const log = new AuditLog(folder)
  for (let n = 0; n < 5; n++) await log.append(entry(n))
  await log.close()
  const [path = ''] = segmentsIn(folder)
  writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(2).join('\n'))
  test.match(checkAudit(folder, { ...log.head, first: 1 }), [/removed or inserted/])
})

t.test('a damaged end is reported, and later entries are in a separate file', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const log = new AuditLog(folder)
  for (let n = 0; n < 3; n++) await log.append(entry(n))
  await log.close()
  const [path = ''] = segmentsIn(folder)
  writeFileSync(path, readFileSync(path, 'utf8').replace('"n":2', '"n":7'))
  const again = new AuditLog(folder)
  test.match(again.problem, /1 lines at its end are damaged/)
  await again.append(entry(3))
  await again.close()
  test.equal(segmentsIn(folder).length, 2)
  test.match(checkAudit(folder, { ...again.head, first: 1 }), [/the line was changed/])
})

t.test('a log that lost its end, or was created again, shows that for ever', async (test) => {
  for (const forged of [0, 1, 9]) {
    const folder = temporaryFolder(test, 'audit')
    const log = new AuditLog(folder)
    for (let n = 0; n < 4; n++) await log.append(entry(n))
    await log.close()
    const known = { ...log.head, first: 1 }
    writeFileSync(segmentsIn(folder)[0] ?? '', '')
    const forger = new AuditLog(folder)
    for (let n = 0; n < forged; n++) await forger.append(entry(50 + n))
    await forger.close()
    const again = new AuditLog(folder, { known })
    test.match(again.problem, /from 1 to 4 were modified/, `${forged} entries instead`)
    await again.append(entry(10))
    await again.close()
    test.equal(again.head.seq, Math.max(4, forged) + 1)
    const later = new AuditLog(folder, { known: { ...again.head, first: 1 } })
    test.equal(later.problem, undefined)
    await later.close()
    const found = checkAudit(folder, { ...later.head, first: 1 })
    test.match(found[0], forged === 0 ? /from 1 to 4 are missing/ : /are missing|removed or inserted/)
  }
})

t.test('an entry that cannot be written is refused, and the next one takes its place', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const log = new AuditLog(folder)
  await log.append(entry(0))
  await test.rejects(log.append({ at: 'x', n: 1n }), 'JSON has no such number')
  await log.append(entry(2))
  await log.close()
  test.equal(log.head.seq, 2)
  test.same(checkAudit(folder, { ...log.head, first: 1 }), [])
  truncateSync(segmentsIn(folder)[0] ?? '', 0)
  test.match(checkAudit(folder, { ...log.head, first: 1 }), [/were modified/])
})

t.test('entries that a full disk refused midway leave the chain whole', { skip: noSmallDisk }, async (test) => {
  const disk = smallDisk(test, 1)
  const folder = join(disk, 'audit')
  const log = new AuditLog(folder)
  await log.append(entry(0))
  const { bavail, bsize } = statfsSync(disk)
  writeFileSync(join(disk, 'filler'), Buffer.alloc(bavail * bsize))
  const many = Array.from({ length: 300 }, (_, n) => log.append({ ...entry(n), text: 'x'.repeat(4_000) }))
  test.ok((await Promise.allSettled(many)).every(({ status }) => status === 'rejected'))
  await log.append(entry(1))
  await log.append(entry(2))
  await log.close()
  test.same(checkAudit(folder, { ...log.head, first: 1 }), [])
  const again = new AuditLog(folder)
  test.same([again.problem, again.head], [undefined, log.head])
  await again.close()
})

t.test('young entries stay, and a user who fills the log waits before they would be deleted', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const clock = { used_ms: 0 }
  const drops: boolean[] = []
  const log = new AuditLog(folder, {
    segmentBytes_max: 2_000,
    segments_max: 4,
    youngSegments_max: 8,
    shortSegments: 3,
    keep_ms: 1_000_000,
    used_ms: () => clock.used_ms,
    beforeDrop: async (_first, _newest, isYoung) => void drops.push(isYoung),
  })
  const add = (by: string) => log.append({ ...entry(0), by, outcome: 'done' })
  await add('victim')
  for (let n = 0; n < 30; n++) await add('flooder')
  test.equal(segmentsIn(folder).length, 4, 'space is short')
  test.equal(log.wait_s('victim'), 0)
  let written = 0
  for (; log.wait_s('flooder') === 0; written++) await add('flooder')
  test.ok(written < 500, 'the allowed burst')
  test.equal(log.wait_s('victim'), 0)
  test.same(
    drops.filter((isYoung) => !isYoung),
    [],
  )
  await log.close()
})

t.test('old entries are deleted by number, young ones only without any space, which is reported', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const clock = { used_ms: 0 }
  const drops: boolean[] = []
  const log = new AuditLog(folder, {
    segmentBytes_max: 300,
    segments_max: 2,
    youngSegments_max: 5,
    keep_ms: 1_000,
    used_ms: () => clock.used_ms,
    beforeDrop: async (_first, _newest, isYoung) => void drops.push(isYoung),
  })
  for (let n = 0; n < 12; n++) await log.append(entry(n))
  test.equal(segmentsIn(folder).length, 5)
  test.ok(drops.length > 0 && drops.every((isYoung) => isYoung))
  clock.used_ms = 2_000
  drops.length = 0
  for (let n = 0; n < 3; n++) await log.append(entry(n))
  test.ok(segmentsIn(folder).length < 5)
  test.equal(drops[0], false)
  await log.close()
})
