import { open } from 'lmdb'
import t from 'tap'
import type { RowWrite } from '../../../storage/config/checked-table.ts'
import { MetaTable } from '../../../storage/config/meta-table.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('values are read from memory, and are the last written ones', async (test) => {
  const root = open({ path: temporaryFolder(test, 'meta'), noSubdir: false })
  test.teardown(() => root.close())
  const rows = root.openDB<Uint8Array, string>({ name: 'meta', encoding: 'binary' })
  const table = new MetaTable('meta', rows)
  const commit = (row: RowWrite) => root.batch(() => row.queue())
  test.equal(table.get('a'), undefined)
  await commit(table.put('a', { b: 1 }))
  test.equal(table.get('a'), undefined, 'its write is not confirmed yet')
  table.settle(true)
  test.same(table.get('a'), { b: 1 })
  test.equal(table.get('a'), table.get('a'), 'the same object')
  await commit(table.put('a', { b: 2 }))
  table.settle(false)
  test.same(table.get('a'), { b: 1 }, 'a failed write is not there')
  await commit(table.remove('a'))
  table.settle(true)
  test.equal(table.get('a'), undefined)
  await commit(table.put('unread', 3))
  table.settle(true)
  test.equal(table.get('unread'), 3)
  const written = commit(table.put('late', 4))
  test.equal(table.get('late'), undefined, 'it is being written')
  await written
  table.settle(true)
  test.equal(table.get('late'), 4)
})
