import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openArchiveDatabases } from '../../../storage/archive/databases.ts'
import { makeKey } from '../../../storage/archive/layout.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { createAppliance } from '../../../src/appliance/appliance.ts'
import { checkState } from '../../../src/daemon/check.ts'
import { LAYER4_ARCHIVE } from '../../../src/stats/layer4-stats.ts'
import { silentLog } from '../../../src/base/log.ts'
import { recordingMachine, testSettings } from '../../fixtures/appliance.ts'
import { backend } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { stageIn } from '../../fixtures/entries.ts'

/** The state that a daemon leaves behind. */
async function usedState(test: Test): Promise<string> {
  const state = temporaryFolder(test, 'check')
  const appliance = await createAppliance(testSettings(state), recordingMachine(state), silentLog)
  await appliance.close()
  return state
}

t.test('the state left by a daemon is whole, however often it is checked', async (test) => {
  const state = await usedState(test)
  test.same(await checkState(state), [])
  test.same(await checkState(state), [])
})

t.test('a folder without stores is reported as such, and stays as it was', async (test) => {
  const state = temporaryFolder(test, 'check')
  test.same(await checkState(state), [`there are no stores in ${state}`])
  test.notOk(existsSync(join(state, 'config')))
  test.notOk(existsSync(join(state, 'archive')))
})

t.test('problems of both stores are reported together', async (test) => {
  const state = await usedState(test)
  const store = new LmdbConfigStore(join(state, 'config'))
  const origin = { actor: 'x', endpoint: 'x', at: '2026-01-02T03:04:05.000Z' }
  await stageIn(store, [{ section: 'l7Backends', scope: '', key: 'b', value: backend('b', ['missing']) }], origin)
  await store.close()
  const archive = new ArchiveWriter(join(state, 'archive'), 1_700_000_000)
  archive.databases.catalog.putSync(Buffer.from([0, 0, 0, 0, 0, 0, 0, 9]), Buffer.from('nonsense'))
  await archive.close()
  const problems = (await checkState(state)).join('\n')
  test.match(problems, /candidate: l7Backends b: .*missing, which does not exist/)
  test.match(problems, /cannot be read|not below the next number/)
})

t.test('a store of another layout is refused, not read', async (test) => {
  const state = temporaryFolder(test, 'check')
  const store = new LmdbConfigStore(join(state, 'config'))
  await store.close()
  const { open } = await import('lmdb')
  const root = open({ path: join(state, 'config'), noSubdir: false, encoding: 'json', maxDbs: 8 })
  root.openDB({ name: 'meta', encoding: 'json' }).putSync('schema', 99)
  await root.close()
  await test.rejects(checkState(state), /has layout 99/)
})

t.test('the archive of Layer 4 is checked as well; it may be absent', async (test) => {
  const state = await usedState(test)
  const directory = join(state, LAYER4_ARCHIVE)
  test.ok(existsSync(directory))
  const databases = openArchiveDatabases(directory)
  databases.tiers[0]?.putSync(makeKey(4_000_000_000, 0), new Uint8Array())
  await databases.environment.close()
  test.match(await checkState(state), [/^Layer 4: t0 4000000000/])
  rmSync(directory, { recursive: true })
  test.same(await checkState(state), [])
})
