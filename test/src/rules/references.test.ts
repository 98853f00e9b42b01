import t, { type Test } from 'tap'
import { referencesInTurns, verifyReferences } from '../../../src/rules/references.ts'
import { configView } from '../../../src/config/views.ts'
import type { ConfigView, SectionName } from '../../../src/model/sections.ts'
import { backend, configFixture, frontend, openStore, realServer, user } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'
import { stageIn } from '../../fixtures/entries.ts'

/** Problems of records that were written past the drafts, which would refuse them. */
async function problems(test: Test, records: readonly (readonly [SectionName, { readonly id: string }])[]) {
  const store = openStore(test)
  const origin = { actor: 'x', endpoint: 'x', at: '2026-01-02T03:04:05.000Z' }
  await stageIn(
    store,
    records.map(([section, value]) => ({ section, scope: '', key: value.id, value })),
    origin,
  )
  return verifyReferences(configView(store.candidate))
}

t.test('a whole configuration has no problems', async (test) => {
  const { edit, store } = configFixture(test)
  await edit((draft) => {
    draft.section('realServers').create(realServer('a'))
    draft.section('l7Backends').create(backend('b', ['a']))
    draft.section('l7Frontends').create(frontend('f', 'b'))
    draft.section('l7Frontends').create(frontend('g', null))
    draft.section('roles').create({ id: 'r', name: 'r', builtin: false, endpoints: [] })
    draft.section('groups').create({ id: 'h', name: 'h', roles: ['r'] })
    draft.section('users').create(user('u', { groups: ['h'], roles: ['r'] }))
  })
  test.same(verifyReferences(configView(store.candidate)), [])
})

t.test('every dangling reference names its record and field', async (test) => {
  const found = await problems(test, [
    ['realServers', realServer('a')],
    ['l7Backends', backend('b', ['x', 'a', 'y'])],
    ['l7Frontends', frontend('f', 'z')],
    ['groups', { id: 'g', name: 'g', roles: ['r'] } as { readonly id: string }],
    ['users', user('u', { groups: ['g', 'h'], roles: ['r'] })],
  ])
  test.same(
    found.map(({ section, id, field }) => `${section} ${id} ${field}`),
    [
      'users u groups.1',
      'users u roles.0',
      'groups g roles.0',
      'l7Frontends f defaultBackendId',
      'l7Backends b reals.0.ripId',
      'l7Backends b reals.2.ripId',
    ],
  )
  test.equal(
    found[3]?.message,
    'defaultBackendId of the Layer 7 frontend f (f) refers to the Layer 7 backend z, which does not exist: ' +
      'discard the pending change of this Layer 7 frontend, or create the Layer 7 backend again',
  )
})

t.test('an id of another section is no match', async (test) => {
  const found = await problems(test, [
    ['l7Frontends', frontend('same', 'same')],
    ['realServers', realServer('same')],
  ])
  test.match(found, [{ section: 'l7Frontends', id: 'same', field: 'defaultBackendId' }])
})

t.test('long lists are checked with pauses', (t) => {
  const ids = Array.from({ length: 1200 }, (_, at) => `r${at}`)
  const view = viewOf({ realServers: ids.slice(1).map((id) => realServer(id)), l7Backends: [backend('b', ids)] })
  const found = [...referencesInTurns(view)]
  t.strictSame(
    found.map((problem) => problem?.field),
    ['reals.0.ripId', undefined, undefined],
  )
  t.strictSame(verifyReferences(view), found.slice(0, 1))
  t.end()
})

t.test('valid references are looked up again when a record is deleted', (t) => {
  const ids = Array.from({ length: 300 }, (_, at) => `r${at}`)
  const reals = ids.map((id) => realServer(id))
  const many = backend('b', ids)
  const fields = (realServers: readonly ReturnType<typeof realServer>[], l7Backends = [many]) =>
    verifyReferences(viewOf({ realServers, l7Backends })).map(({ field }) => field)
  t.strictSame(fields(reals), [])
  t.strictSame(fields(reals.map((real, at) => (at === 7 ? { ...real, weight: 1 } : real))), [])
  for (let time = 0; time < 2; time++) {
    t.strictSame(fields(reals.filter((_, at) => at !== 7)), ['reals.7.ripId'])
    t.strictSame(fields(reals.slice(0, -2)), ['reals.298.ripId', 'reals.299.ripId'])
    t.strictSame(fields([]).length, 300)
    t.strictSame(fields(reals), [])
  }
  t.strictSame(fields([...reals.slice(1), realServer('other')]), ['reals.0.ripId'], 'another record in its place')
  t.strictSame(fields(reals, [{ ...many, reals: [...many.reals, { ripId: 'none' }] }]), ['reals.300.ripId'])
  t.end()
})

t.test('lists that a view builds for each call are not built for each record', (t) => {
  const ids = Array.from({ length: 300 }, (_, at) => `r${at}`)
  const whole = viewOf({
    realServers: ids.map((id) => realServer(id)),
    l7Backends: Array.from({ length: 50 }, (_, at) => backend(`b${at}`, ids)),
  })
  let taken = 0
  const view: ConfigView = {
    get: (section, id) => whole.get(section, id),
    list: (section) => {
      taken += 1
      return [...whole.list(section)]
    },
  }
  for (let time = 0; time < 2; time++) t.strictSame(verifyReferences(view), [])
  t.ok(taken < 200, `${taken} lists, of each section a few each time`)
  t.strictSame(verifyReferences(whole), [])
  t.end()
})
