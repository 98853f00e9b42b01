import { mkdirSync, rmSync } from 'node:fs'
import t from 'tap'
import { AuditLog } from '../../../storage/audit/audit-log.ts'
import { type AuditQuery, SEARCH_BEGUN, searchAudit } from '../../../storage/audit/search.ts'
import { segmentsIn } from '../../../storage/audit/segments.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

/** Searches file after file to the end. */
function searched(folder: string, query: AuditQuery) {
  const found = []
  for (let so = SEARCH_BEGUN; so.below !== undefined; found.push(...so.found))
    so = searchAudit(folder, { ...query, limit: query.limit - found.length }, so)
  return found
}

t.test('entries are found by number, time, field and text, newest first', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const log = new AuditLog(folder, { segmentBytes_max: 500 })
  for (let n = 1; n <= 9; n++)
    await log.append({ at: `2026-01-0${n}T10:00:00.000Z`, by: n % 2 === 0 ? 'a@b' : 'c@d', path: `/Rips/${n}` })
  await log.close()
  const found = (query: AuditQuery) => searched(folder, query).map(({ seq }) => seq)
  const all = { limit: 100 }
  test.same(found(all), [9, 8, 7, 6, 5, 4, 3, 2, 1])
  test.same(found({ limit: 2 }), [9, 8])
  test.same(found({ limit: 2, before: 8 }), [7, 6])
  test.same(found({ ...all, from: '2026-01-08' }), [9, 8])
  test.same(found({ ...all, to: '2026-01-02' }), [2, 1], 'the whole of a day')
  test.same(found({ ...all, from: '2026-01-03T10:00:00.000Z', to: '2026-01-04T09:00:00Z' }), [3])
  test.same(found({ ...all, equal: { by: 'a@b' } }), [8, 6, 4, 2])
  test.same(found({ ...all, text: 'rips/7' }), [7])
  test.same(found({ ...all, text: 'nothing' }), [])
  test.equal('prev' in (searched(folder, all)[0] ?? {}), false)
})

t.test('an answer is limited in its length as well; the rest comes with the next request', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const log = new AuditLog(folder)
  for (let n = 1; n <= 40; n++) await log.append({ at: 'a', text: 'x'.repeat(60_000) })
  await log.close()
  const seqs: number[] = []
  for (let before: number | undefined; ;) {
    const page = searched(folder, { limit: 1000, before })
    if (page.length === 0) break
    test.ok(page.length < 20)
    seqs.push(...page.map(({ seq }) => seq))
    before = seqs.at(-1)
  }
  test.same(
    seqs,
    Array.from({ length: 40 }, (_, n) => 40 - n),
  )
})

t.test('one file is searched at a time, and one that was deleted meanwhile is no failure', async (test) => {
  const folder = temporaryFolder(test, 'audit')
  const log = new AuditLog(folder, { segmentBytes_max: 500 })
  for (let n = 1; n <= 12; n++) await log.append({ at: 'a', path: `/rips/${n}` })
  await log.close()
  const files = segmentsIn(folder)
  test.ok(files.length > 3)
  const first = searchAudit(folder, { limit: 100 }, SEARCH_BEGUN)
  test.ok(first.found.length > 0 && first.found.length < 12)
  test.equal(first.below, Number(files.at(-1)?.slice(-18, -6)))
  rmSync(files.at(-2) ?? '')
  const second = searchAudit(folder, { limit: 100 }, first)
  test.equal(second.below, Number(files.at(-3)?.slice(-18, -6)), 'the next existing one')
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
  test.same(searchAudit(folder, { limit: 100 }, second).below, undefined)
})
