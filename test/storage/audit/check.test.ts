import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AuditLog } from '../../../storage/audit/audit-log.ts'
import { checkAudit } from '../../../storage/audit/check.ts'
import { chain, segmentsIn, unchain } from '../../../storage/audit/segments.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

async function fixture(test: Test) {
  const folder = temporaryFolder(test, 'audit')
  const log = new AuditLog(folder, { segmentBytes_max: 2000 })
  for (let n = 0; n < 40; n++) await log.append({ at: `t${n}`, by: `user ${n}` })
  await log.close()
  const paths = segmentsIn(folder)
  const edit = (change: (lines: string[]) => void) => {
    const path = paths[1] ?? ''
    const lines = readFileSync(path, 'utf8').split('\n')
    change(lines)
    writeFileSync(path, lines.join('\n'))
  }
  return {
    folder,
    head: { ...log.head, first: 1 },
    paths,
    edit,
    check: () => checkAudit(folder, { ...log.head, first: 1 }),
  }
}

t.test('a changed line is found', async (test) => {
  const { edit, check } = await fixture(test)
  test.same(check(), [])
  edit((lines) => lines.splice(0, 1, (lines[0] ?? '').replace('user', 'nobody')))
  test.match(check(), [/:1: the line was changed/])
})

t.test('a removed line is found', async (test) => {
  const { edit, check } = await fixture(test)
  edit((lines) => lines.splice(1, 1))
  test.match(check(), [/removed or inserted/])
})

t.test('an inserted line, with its own hash, is found', async (test) => {
  const { edit, check } = await fixture(test)
  edit((lines) => {
    const before = unchain(lines[0] ?? '')
    const head = { seq: before?.seq ?? 0, hash: before?.hash ?? '' }
    lines.splice(1, 0, chain({ seq: head.seq + 1, at: 'x', by: 'innocent' }, head).line)
  })
  test.match(check(), [/removed or inserted/])
})

t.test('a file missing in the middle is found, and so is a missing end', async (test) => {
  const { folder, paths, head } = await fixture(test)
  rmSync(paths[1] ?? '')
  test.match(checkAudit(folder, head), [/are missing/, /removed or inserted/])
  const last = await fixture(test)
  rmSync(last.paths.at(-1) ?? '')
  test.match(last.check(), [/were modified/])
  rmSync(last.folder, { recursive: true })
  test.match(last.check(), [/missing/])
})

t.test('a rebuilt chain is found with a note of the old end', async (test) => {
  const { folder, paths, head } = await fixture(test)
  for (const path of paths) rmSync(path)
  const forged = new AuditLog(folder)
  for (let n = 0; n < 50; n++) await forged.append({ at: `t${n}`, by: 'innocent' })
  await forged.close()
  test.same(checkAudit(folder, undefined), [], 'whole in itself')
  test.match(checkAudit(folder, head), [/were modified/])
  test.same(checkAudit(join(folder, 'none'), undefined), [], 'never used')
})
