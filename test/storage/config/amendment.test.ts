import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { amendIn, freezeIn, promoteIn, stageIn, thawIn } from '../../fixtures/entries.ts'

const origin = { actor: 'tester', endpoint: 'test.write', at: '2026-01-02T03:04:05.000Z' }
const key = { section: 'things', scope: '', key: 'a' }

async function storeWith(test: Test, value: unknown) {
  const directory = mkdtempSync(join(tmpdir(), 'fulcrum-amend-'))
  test.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const store = new LmdbConfigStore(directory)
  if (value !== undefined) {
    await stageIn(store, [{ ...key, value }], origin)
    await promoteIn(store, store.changes(), { applyId: 'one', revision: 1, by: 'tester', at: origin.at, comment: '' })
  }
  const reopened = async () => {
    await store.close()
    return new LmdbConfigStore(directory)
  }
  return { store, reopened }
}

t.test('a patch is in running and the candidate at once, survives a reopening, and is no revision', async (test) => {
  const { store, reopened } = await storeWith(test, { n: 1, old: true })
  await amendIn(store, key, { n: 2, old: undefined })
  const again = await reopened()
  test.same(again.running.get('things', '', 'a')?.value, { n: 2 })
  test.same(again.candidate.get('things', '', 'a')?.value, { n: 2 })
  test.same(again.changes(), [])
  test.equal(again.revision, 1)
  await again.close()
})

t.test('a pending change of the record keeps all its other fields', async (test) => {
  const { store, reopened } = await storeWith(test, { n: 1, name: 'old' })
  await stageIn(store, [{ ...key, value: { n: 1, name: 'new' } }], origin)
  await amendIn(store, key, { n: 2 })
  const again = await reopened()
  test.match(again.changes(), [{ before: { value: { n: 2, name: 'old' } }, after: { value: { n: 2, name: 'new' } } }])
  await amendIn(again, key, { name: 'other' })
  test.match(
    again.changes(),
    [{ before: { value: { name: 'other' } }, after: { value: { n: 2, name: 'new' } } }],
    'its own field',
  )
  await amendIn(again, key, { name: 'new' })
  test.same(again.changes(), [], 'a pending change without a difference is dropped')
  await again.close()
})

t.test('a record is created; a pending removal stays', async (test) => {
  const { store } = await storeWith(test, undefined)
  await amendIn(store, key, { n: 1 })
  test.same(store.running.get('things', '', 'a')?.value, { n: 1 })
  await stageIn(store, [{ ...key, value: undefined }], origin)
  await amendIn(store, key, { n: 2 })
  test.match(store.changes(), [{ before: { value: { n: 2 } }, after: undefined }])
  await store.close()
})

t.test('nothing is amended during an apply', async (test) => {
  const { store } = await storeWith(test, { n: 1 })
  await stageIn(store, [{ ...key, value: { n: 3 } }], origin)
  await freezeIn(store, () => true)
  await test.rejects(amendIn(store, key, { n: 2 }), /while an apply is running/)
  await thawIn(store)
  await store.close()
})
