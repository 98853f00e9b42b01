import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ensureNodeId, refuseLostStore } from '../../../src/appliance/node-identity.ts'
import { openStore } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a node keeps its id', async (test) => {
  const store = openStore(test)
  const id = await ensureNodeId(store)
  test.match(id, /^[0-9a-f-]{36}$/)
  test.equal(await ensureNodeId(store), id)
  test.equal(await ensureNodeId(store, id), id)
  test.equal(await ensureNodeId(store, 'another'), 'another', 'of the node that it replaces in a cluster')
  test.equal(await ensureNodeId(store), 'another', 'and keeps when it leaves')
})

t.test('an empty store beside the keys of an old installation is refused', async (test) => {
  const store = openStore(test)
  const folder = temporaryFolder(test, 'lost')
  refuseLostStore(store, folder)
  writeFileSync(join(folder, 'token-key.pem'), 'key')
  test.throws(() => refuseLostStore(store, folder), /is empty, but .* was in use; restore it/)
  await ensureNodeId(store)
  refuseLostStore(store, folder)
})
