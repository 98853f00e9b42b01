import { statSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import t from 'tap'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { CONFIG_SCHEMA, ConfigTables } from '../../../storage/config/tables.ts'
import { NoRoomError } from '../../../storage/room.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const MIB = 1_024 * 1_024

/** A store as the first layout left it: rows without checksums, and a revision without a header. */
async function firstLayout(folder: string, schema: unknown): Promise<void> {
  const root = open({ path: folder, noSubdir: false, encoding: 'json', maxDbs: 16 })
  const row = { revision: 3, changeId: 'c', actor: 'tester', endpoint: 'test', at: '', value: { n: 2 } }
  const revision = { applyId: 'x', revision: 1, by: '', at: '', comment: '', changes: [] }
  const tables: Readonly<Record<string, readonly (readonly [string | string[], unknown])[]>> = {
    running: [[['things', '', 'a'], { value: { n: 1 }, revision: 2 }]],
    candidate: [[['things', '', 'a'], row]],
    revisions: [['000000000001', revision]],
    sessions: [['s', { user: 'u' }]],
    meta: [
      ['schema', schema],
      ['sequence', 3],
      ['revision', 1],
      ['caller nodeId', 'n'],
    ],
  }
  for (const [name, rows] of Object.entries(tables)) {
    const table = root.openDB<unknown, string | string[]>({ name, encoding: 'json' })
    for (const [key, value] of rows) await table.put(key, value)
  }
  await root.close()
}

t.test('the first layout is migrated completely, once', async (test) => {
  const folder = temporaryFolder(test, 'layout')
  await firstLayout(folder, 1)
  for (const title of ['the first start', 'the next start']) {
    const store = new LmdbConfigStore(folder)
    test.same(store.running.get('things', '', 'a'), { value: { n: 1 }, revision: 2 }, title)
    test.match(store.changes(), [{ id: 'c', revision: 3, after: { value: { n: 2 } } }])
    test.equal(store.revision, 1)
    test.match(store.revisionHeaders(9), [{ revision: 1, count: 0 }])
    test.same(store.sessions.entries(), [{ key: 's', value: { user: 'u' } }])
    test.equal(store.getMeta('nodeId'), 'n')
    await store.close()
  }
})

t.test('a layout that this version does not know is refused, and left as it is', async (test) => {
  const folder = temporaryFolder(test, 'layout')
  await firstLayout(folder, CONFIG_SCHEMA + 1)
  for (let time = 0; time < 2; time++) {
    test.throws(() => new ConfigTables(folder), /has layout 3, but this version knows 2/)
  }
})

t.test('room is what rows hold: large ones get it, and many small ones do not take gigabytes', async (test) => {
  const folder = temporaryFolder(test, 'room')
  const tables = new ConfigTables(folder)
  test.teardown(() => tables.close())
  const size = () => statSync(join(folder, 'data.mdb')).size
  tables.ensureRoom(60_000 * 30, 30)
  test.ok(size() > 2 * 60_000 * 30, 'thirty of 60 KB')
  const before = size()
  tables.ensureRoom(0, 2_000)
  test.equal(size(), before, 'removing many from a small tree takes next to nothing')
  tables.ensureRoom(99_000 * 400, 99_000, { keepsReserve: true })
  test.ok(size() < 200 * MIB, `${Math.round(size() / MIB)} MiB for 99,000 of 400 bytes`)
})

t.test('commits made while one is written share the next transaction, in order', async (test) => {
  const tables = new ConfigTables(temporaryFolder(test, 'shared'))
  test.teardown(() => tables.close())
  const log: string[] = []
  const put = async (value: number) => {
    const row = tables.meta.put('caller a', value)
    const queue = () => {
      log.push(`begins ${value}`)
      row.queue()
    }
    await tables.commit([{ ...row, queue }])
    log.push(`is written ${value}`)
  }
  const all = Promise.all([1, 2, 3].map(put))
  test.same(log, ['begins 1'])
  await all
  test.same(log.slice(1, 3), ['begins 2', 'begins 3'])
  test.same(log.slice(3), ['is written 1', 'is written 2', 'is written 3'])
  test.equal(tables.meta.get('caller a'), 3)
})

t.test('a commit without room is refused alone', async (test) => {
  const tables = new ConfigTables(temporaryFolder(test, 'refused'))
  test.teardown(() => tables.close())
  const put = (key: string, keepsReserve: boolean) => tables.commit([tables.meta.put(key, 1)], { keepsReserve })
  const ensureRoom = tables.ensureRoom.bind(tables)
  tables.ensureRoom = (bytes, rows, options) => {
    if (options?.keepsReserve === true) throw new NoRoomError('the disk is full')
    ensureRoom(bytes, rows, options)
  }
  const [refused, ...written] = await Promise.allSettled([
    put('caller a', true),
    put('caller b', false),
    put('caller c', false),
    put('caller d', false),
  ])
  test.match(refused, { status: 'rejected', reason: { message: 'the disk is full' } })
  test.ok(written.every(({ status }) => status === 'fulfilled'))
  test.same(
    ['a', 'b', 'c', 'd'].map((key) => tables.meta.get(`caller ${key}`)),
    [undefined, 1, 1, 1],
  )
  await test.rejects(put('caller e', true), { name: 'NoRoomError' })
  await put('caller f', false)
  test.equal(tables.meta.get('caller f'), 1, 'a commit refused alone blocks nothing')
})
