import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { Editing } from '../../../src/config/editing.ts'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { sharedAppliance } from '../../fixtures/shared-appliance.ts'
import { promoteIn } from '../../fixtures/entries.ts'

const NEMO = { id: 'nemo-1', username: 'nemo', disabled: false, groups: [], createdAt: '2026-01-02T03:04:05.000Z' }
const AT = '2026-01-02T03:04:05.000Z'

const borrow = sharedAppliance(t, { prepare: addNemo })

/** Adds a user who has logged in through RADIUS before. */
async function addNemo(state: string): Promise<void> {
  const store = new LmdbConfigStore(join(state, 'config'))
  await new Editing(store).edit({ actor: 'tester', endpoint: 'test', at: AT }, undefined, (draft) =>
    draft.section('radiusUsers').create(NEMO),
  )
  const revision = store.revision + 1
  await promoteIn(store, store.changes(), { applyId: randomUUID(), revision, by: 'tester', at: AT, comment: '' })
  await store.close()
}

t.test('listed and read', async (test) => {
  const { call } = await borrow()
  test.same((await call('GET', '/radius/users')).json.data, [NEMO])
  test.same((await call('GET', '/radius/users/nemo-1')).json.data, NEMO)
})

t.test('only `disabled` can be written, and it is required', async (test) => {
  const { call } = await borrow()
  const put = (body: object) => call('PUT', '/radius/users/nemo-1', { body })
  test.match((await put({})).json, { code: 'INVALID_BODY', errors: [{ field: 'disabled' }] })
  test.match((await put({ disabled: true, username: 'x' })).json, { errors: [{ field: 'username' }] })
  test.same((await put({ disabled: true })).json.data, [])
  test.same((await call('GET', '/radius/users/nemo-1')).json.data, { ...NEMO, disabled: true })
  test.match((await call('GET', '/services/pending')).json.data.changes, [{ op: 'update', after: { disabled: true } }])
})

t.test('a deleted user is gone after apply', async (test) => {
  const { call } = await borrow()
  test.same((await call('DELETE', '/radius/users/nemo-1')).json.data, [])
  test.equal((await call('PUT', '/services/apply')).status, 200)
  test.same((await call('GET', '/radius/users')).json.data, [])
})

t.test('NOT_FOUND and REVISION_MISMATCH', async (test) => {
  const { call } = await borrow()
  test.equal((await call('DELETE', '/radius/users/other')).json.code, 'NOT_FOUND')
  const headers = { 'if-match': String((await call('GET', '/radius/users/nemo-1')).headers['ETag']) }
  const put = (disabled: boolean) => call('PUT', '/radius/users/nemo-1', { body: { disabled }, headers })
  test.equal((await put(true)).status, 200)
  test.equal((await put(false)).json.code, 'REVISION_MISMATCH')
})
