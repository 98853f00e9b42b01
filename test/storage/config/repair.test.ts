import { open } from 'lmdb'
import t, { type Test } from 'tap'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { damageOf, repairConfig } from '../../../storage/config/repair.ts'
import { ConfigTables } from '../../../storage/config/tables.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { promoteIn, stageIn } from '../../fixtures/entries.ts'

const origin = { actor: 'tester', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }
const at = (key: string) => ({ section: 'things', scope: '', key })
const header = (revision: number) => ({ at: '', applyId: `a${revision}`, revision, by: 'tester', comment: '' })

/** Two revisions of a, one of b; a change of each is pending; a session, and a value of a caller. */
async function filled(test: Test): Promise<string> {
  const folder = temporaryFolder(test, 'repair')
  const store = new LmdbConfigStore(folder)
  for (const n of [1, 2]) {
    await stageIn(store, [{ ...at('a'), value: { n } }, ...(n === 1 ? [{ ...at('b'), value: 'b' }] : [])], origin)
    await promoteIn(store, store.changes(), header(n))
  }
  await stageIn(
    store,
    [
      { ...at('a'), value: { n: 3 } },
      { ...at('b'), value: 'c' },
    ],
    origin,
  )
  await store.sessions.put('s', { user: 'u' })
  await store.putMeta('nodeId', 'n')
  await store.close()
  return folder
}

/** Flips one bit in the middle of a row. */
async function damage(folder: string, name: string, key: string | string[]): Promise<void> {
  const root = open({ path: folder, noSubdir: false, maxDbs: 16 })
  const table = root.openDB<Uint8Array, string | string[]>({ name, encoding: 'binary' })
  const row = Buffer.from(table.get(key) ?? [])
  row[row.length >> 1] = (row[row.length >> 1] ?? 0) ^ 4
  await table.put(key, row)
  await root.close()
}

async function mended(folder: string) {
  const tables = new ConfigTables(folder)
  const found = damageOf(tables)
  const told = repairConfig(tables)
  const left = damageOf(tables)
  const again = repairConfig(tables)
  await tables.close()
  return { found, told, left, again }
}

t.test('whole stores are left as they are', async (test) => {
  const folder = await filled(test)
  test.same(await mended(folder), { found: [], told: [], left: [], again: [] })
})

t.test(
  'a damaged record keeps the store from opening, and is restored from the newest revision that has it',
  async (test) => {
    const folder = await filled(test)
    await damage(folder, 'running', ['things', '', 'a'])
    test.throws(() => new LmdbConfigStore(folder), /the record things  a of running is damaged/)
    const { found, told, left, again } = await mended(folder)
    test.same(found, ['the record things  a of running is damaged'])
    test.same(told, ['the record things  a of running is damaged: it was restored from revision 2'])
    test.same([left, again], [[], []])
    const store = new LmdbConfigStore(folder)
    test.match(store.running.get('things', '', 'a'), { value: { n: 2 } })
    test.match(store.candidate.get('things', '', 'a'), { value: { n: 3 } }, 'pending changes still are')
    const revision = store.running.get('things', '', 'a')?.revision ?? 0
    await stageIn(store, [{ ...at('b'), value: 'd' }], origin)
    test.ok((store.candidate.get('things', '', 'b')?.revision ?? 0) > revision, 'no number is assigned twice')
    await store.close()
  },
)

t.test('data only in damaged revisions are lost, and reported as such', async (test) => {
  const folder = await filled(test)
  await damage(folder, 'running', ['things', '', 'b'])
  await damage(folder, 'revisions', '000000000001')
  await damage(folder, 'headers', '000000000002')
  const { told, left } = await mended(folder)
  test.same(told.toSorted(), [
    'the record 000000000001 of revisions is damaged: its changes are no longer known',
    'the record 000000000002 of headers is damaged: it was recreated',
    'the record things  b of running is damaged: no revision has it, so it is lost',
  ])
  test.same(left, [])
  const store = new LmdbConfigStore(folder)
  test.equal(store.running.get('things', '', 'b'), undefined)
  test.match(store.revisionHeaders(9), [{ revision: 2, count: 1 }])
  await store.close()
})

t.test('damage beside the configuration is left out and reported; the store opens all the same', async (test) => {
  const folder = await filled(test)
  await damage(folder, 'sessions', 's')
  const store = new LmdbConfigStore(folder)
  test.same(store.sessions.entries(), [])
  test.same(store.damaged, ['the record s of sessions is damaged'])
  await store.close()
  test.same((await mended(folder)).told, ['the record s of sessions is damaged: it was removed'])
})

t.test('counters, an open journal and notes of callers', async (test) => {
  const folder = await filled(test)
  const before = new LmdbConfigStore(folder)
  await before.openJournal({ ...header(3), steps: ['replace'], drivers: ['layer7proxy'] })
  await before.close()
  for (const key of ['revision', 'sequence', 'journal', 'caller nodeId']) await damage(folder, 'meta', key)
  await damage(folder, 'candidate', ['things', '', 'b'])
  const { told, left } = await mended(folder)
  test.equal(told.length, 5)
  test.same(left, [])
  const store = new LmdbConfigStore(folder)
  test.equal(store.revision, 2)
  test.match(store.journal(), { steps: [] })
  test.notOk('drivers' in (store.journal() ?? {}), 'the whole machine is in doubt')
  test.equal(store.getMeta('nodeId'), undefined)
  test.equal(store.changes().length, 1)
  await store.close()
})

t.test('many removed rows are one sentence, with a few names', async (test) => {
  const folder = await filled(test)
  const tables = new ConfigTables(folder)
  const keys = Array.from({ length: 9 }, (_, n) => `s${n}`)
  await tables.commit(keys.map((key) => tables.side.sessions.put(key, { user: 'u' })))
  await tables.commit(['frozen 1', 'frozen 2', 'caller a', 'caller b'].map((key) => tables.meta.put(key, { key })))
  await tables.close()
  for (const key of keys) await damage(folder, 'sessions', key)
  for (const key of ['frozen 1', 'frozen 2', 'caller a', 'caller b']) await damage(folder, 'meta', key)
  const { told, left } = await mended(folder)
  test.same(told, [
    'the records caller a, caller b of meta are damaged: the notes of the daemon are lost',
    'the records frozen 1, frozen 2 of meta are damaged: changes frozen by running applies are pending again',
    'the records s0, s1, s2, s3, s4 and 4 more of sessions are damaged: they were removed',
  ])
  test.same(left, [])
})
