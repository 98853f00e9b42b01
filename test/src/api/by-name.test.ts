import { join } from 'node:path'
import t from 'tap'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { Editing } from '../../../src/config/editing.ts'
import { realServer } from '../../fixtures/config.ts'
import { ownAppliance, sharedAppliance } from '../../fixtures/shared-appliance.ts'

const borrow = sharedAppliance(t)

async function fixture() {
  const { call } = await borrow()
  const made = async (path: string, body: object, headers = {}) =>
    (await call('POST', `${path}?return=record`, { body, headers })).json.data
  const web = await made('/ipvsDirector/rips', { name: 'Web 1', ip: '192.0.2.1', port: 80 })
  return { call, made, web }
}
type Errors = readonly { readonly field: string; readonly code: string; readonly message: string }[]
const codesOf = (errors: Errors) => errors.map(({ field, code }) => `${field} ${code}`)

t.test(
  'a name is accepted for the id, in any case; the id is stored, and stays when the name changes',
  async (test) => {
    const { call, made, web } = await fixture()
    const reals = [{ ripId: { name: 'wEB 1' }, weight: 3 }]
    const healthCheck = { type: 'script', id: { name: 'DNS' }, parameters: { name: 'example.test' } }
    const backend = await made('/layer7proxy/backends', { name: 'be', mode: 'http', reals, healthCheck })
    test.match(backend, { reals: [{ ripId: web.id, weight: 3 }], healthCheck: { id: 'dns' } })
    const rules = [{ do: { type: 'backend', backendId: { name: 'be' } } }]
    const frontend = { name: 'fe', mode: 'http', ip: '192.0.2.9', ports: '80', defaultBackendId: { name: 'be' }, rules }
    const listed = await made('/layer7proxy/frontends', frontend)
    test.match(listed, { defaultBackendId: backend.id, rules: [{ do: { backendId: backend.id } }] })
    await call('PUT', `/ipvsDirector/rips/${web.id}`, { body: { name: 'other', port: 80 } })
    test.same((await call('GET', `/layer7proxy/backends/${backend.id}`)).json.data, backend)
    const { changes } = (await call('GET', '/services/pending')).json.data
    test.notMatch(JSON.stringify(changes), /"ripId":\{|"backendId":\{/, 'changes show ids')
    const cleared = await call('PUT', `/layer7proxy/frontends/${listed.id}`, { body: { defaultBackendId: null } })
    test.equal(cleared.status, 200)
  },
)

t.test('an accented letter in one character or two is the same: accepted, found and looked up', async (test) => {
  const { call } = await borrow()
  const [one, two] = ['caf\u00e9', 'cafe\u0301']
  const { id } = (await call('POST', '/ipvsDirector/rips', { body: { name: one, ip: '192.0.2.1', port: 80 } })).json
    .data
  const again = await call('POST', '/ipvsDirector/rips', { body: { name: two, ip: '192.0.2.2', port: 80 } })
  test.match(again.json, { code: 'NAME_NOT_UNIQUE' })
  test.match((await call('GET', `/ipvsDirector/rips?name=${encodeURIComponent(two)}`)).json.data, [{ id }])
  const body = { name: 'be', mode: 'http', reals: [{ ripId: { name: two } }] }
  const made = await call('POST', '/layer7proxy/backends?return=record', { body })
  test.match(made.json.data, { reals: [{ ripId: id }] })
})

t.test('UNKNOWN_NAME: all of them at once, and nothing is stored', async (test) => {
  const { call } = await fixture()
  const reals = [{ ripId: { name: 'Web 1' } }, { ripId: { name: 'web 2' } }, { ripId: 'gone' }]
  const healthCheck = { type: 'script', id: { name: 'nope' } }
  const { status, json } = await call('POST', '/layer7proxy/backends', {
    body: { name: 'be', mode: 'http', reals, healthCheck },
  })
  test.match([status, json.code], [422, 'INVALID_BODY'])
  test.same(codesOf(json.errors), ['reals.1.ripId UNKNOWN_NAME', 'healthCheck.id UNKNOWN_NAME'])
  test.match(json.message, 'reals.1.ripId: there is no real server named web 2')
  test.notOk('data' in json)
  const byId = await call('POST', '/layer7proxy/backends', {
    body: { name: 'be', mode: 'http', reals: reals.slice(2) },
  })
  test.match(byId.json, { code: 'INVALID_BODY', errors: [{ field: 'reals.0.ripId', code: 'NOT_FOUND' }] })
  test.same((await call('GET', '/layer7proxy/backends')).json.data, [])
})

t.test('a value that is no name is refused as before, or by the inner field', async (test) => {
  const { call } = await fixture()
  const sent = async (ripId: unknown) =>
    codesOf(
      (await call('POST', '/layer7proxy/backends', { body: { name: 'be', mode: 'http', reals: [{ ripId }] } })).json
        .errors,
    )
  test.same(await sent(5), ['reals.0.ripId TYPE'])
  test.same(await sent(''), ['reals.0.ripId OUT_OF_RANGE'])
  test.same(await sent({}), ['reals.0.ripId.name REQUIRED'])
  test.same(await sent({ name: 5 }), ['reals.0.ripId.name TYPE'])
  test.same(await sent({ name: 'Web 1', id: 'x' }), ['reals.0.ripId.id UNKNOWN'])
  test.same(await sent({ name: '__proto__' }), ['reals.0.ripId UNKNOWN_NAME'])
})

t.test('NOT_UNIQUE: one record by two of its names, or by a name and its id', async (test) => {
  const { call, made } = await fixture()
  const group = await made('/rbac/groups', { id: 'ops', name: 'Ops' })
  const user = { email: 'u@localhost', firstname: 'U', lastname: 'V', password: 'a-password', disabled: false }
  for (const groups of [
    ['ops', { name: 'ops' }],
    [{ name: 'ops' }, { name: 'OPS' }],
  ]) {
    const { json } = await call('POST', '/localUsers/users', { body: { ...user, groups } })
    test.same(codesOf(json.errors), ['groups.1 NOT_UNIQUE'])
  }
  test.same((await made('/localUsers/users', { ...user, groups: [{ name: 'ops' }] })).groups, [group.id])
})

t.test('a name is looked up only in the transaction of the request', async (test) => {
  const { call, made } = await fixture()
  const headers = { 'x-transaction-id': String((await call('POST', '/transactions')).json.data.id) }
  const { id } = await made('/ipvsDirector/rips', { name: 'new', ip: '192.0.2.2', port: 80 }, headers)
  const body = { name: 'be', reals: [{ ripId: { name: 'new' } }] }
  test.equal((await call('POST', '/ipvsDirector/backends', { body })).status, 422)
  test.match(await made('/ipvsDirector/backends', body, headers), { reals: [{ ripId: id }] })
})

t.test('AMBIGUOUS_NAME: two records restored under one name are distinguished by their ids', async (test) => {
  const prepare = async (state: string) => {
    const store = new LmdbConfigStore(join(state, 'config'))
    const writes = ['a', 'b'].map((id) => {
      const value = { ...realServer(id), name: id === 'a' ? 'Web' : 'web' }
      return { section: 'realServers', scope: '', key: id, value }
    })
    const origin = { actor: 'tester', endpoint: 'test', at: '2026-01-02T03:04:05.000Z' }
    await new Editing(store).edit(origin, undefined, (draft) => draft.rewrite(writes, async () => undefined))
    await store.close()
  }
  const { call } = await ownAppliance(test, { prepare })
  const sent = (ripId: unknown) => call('POST', '/ipvsDirector/backends', { body: { name: 'be', reals: [{ ripId }] } })
  const { status, json } = await sent({ name: 'WEB' })
  test.match([status, json.code], [422, 'INVALID_BODY'])
  test.match(json.errors, [{ field: 'reals.0.ripId', code: 'AMBIGUOUS_NAME', message: 'with the ids a, b' }])
  test.same(json.data, { candidates: [{ field: 'reals.0.ripId', ids: ['a', 'b'] }] })
  test.equal((await sent('b')).status, 201)
})
