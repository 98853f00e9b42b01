import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Reserve } from '../../../storage/audit/reserve.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('space is reserved, released once, and reserved again', async (test) => {
  const folder = temporaryFolder(test, 'reserve')
  const reserve = new Reserve(folder)
  test.notOk(reserve.isThere)
  reserve.ensure()
  test.ok(reserve.isThere)
  test.ok(statSync(join(folder, 'reserve')).blocks * 512 >= 1024 * 1024, 'of real blocks')
  test.ok(new Reserve(folder).isThere, 'the next one finds it')
  test.ok(reserve.release())
  test.notOk(existsSync(join(folder, 'reserve')))
  test.notOk(reserve.release())
})

t.test('where it cannot be created, nothing of it is left', async (test) => {
  const folder = join(temporaryFolder(test, 'reserve'), 'gone')
  const reserve = new Reserve(folder)
  reserve.ensure()
  test.notOk(reserve.isThere)
  mkdirSync(folder)
  writeFileSync(join(folder, 'x'), '')
  reserve.ensure()
  test.notOk(reserve.isThere, 'not with every entry')
  rmSync(folder, { recursive: true })
})

t.test('space that a disk does not release is no gain', async (test) => {
  const folder = temporaryFolder(test, 'reserve')
  mkdirSync(join(folder, 'reserve'))
  const reserve = new Reserve(folder)
  test.notOk(reserve.release())
  test.ok(reserve.isThere)
})
