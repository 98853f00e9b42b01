import { statSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import t from 'tap'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { CONFIG_SCHEMA, ConfigTables } from '../../../storage/config/tables.ts'
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

t.test('the first layout is taken over whole, once', async (test) => {
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
    test.throws(() => new ConfigTables(folder), /has layout 3, this version knows 2/)
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
  test.equal(size(), before, 'taking many out of a small tree takes next to nothing')
  tables.ensureRoom(99_000 * 400, 99_000, { keepsReserve: true })
  test.ok(size() < 200 * MIB, `${Math.round(size() / MIB)} MiB for 99,000 of 400 bytes`)
})
