import t from 'tap'
import { isOfAccess, MAKER_NAMES, type May, missedRight, refuseForeign } from '../../../src/config/needed-rights.ts'
import { SECTION_NAMES } from '../../../src/model/sections.ts'
import { endpoints } from '../../../src/resources/index.ts'
import { backend, realServer, refuses, user } from '../../fixtures/config.ts'

const change = (section: string, before: unknown, after: unknown, endpoint = 'x') => ({
  id: 'c',
  section,
  key: 'k',
  actor: 'a@b',
  endpoint,
  before,
  after,
})
const NOTHING = () => ({ get: () => undefined })
const only =
  (...names: readonly string[]) =>
  (name: string) =>
    names.includes(name)

t.test('every staging endpoint is known here, and no other', async (test) => {
  const staging = endpoints.filter(({ effect }) => effect === 'stage' || effect === 'stage-and-act')
  const known = new Set(MAKER_NAMES)
  test.same(
    MAKER_NAMES.filter((name) => !staging.some((endpoint) => endpoint.name === name)),
    [],
  )
  test.same(
    staging.map(({ name }) => name).filter((name) => !known.has(name)),
    ['services.discardAll', 'services.discard', 'revisions.revert'],
    'reversals are checked by their effect on each record',
  )
  const nobody = () => false
  for (const section of SECTION_NAMES) {
    test.ok(missedRight(change(section, undefined, { id: 'k', name: 'n', x: 1 }), nobody), `${section}: created`)
    test.ok(missedRight(change(section, { x: 1 }, { x: 2 }), nobody), `${section}: changed`)
    test.ok(missedRight(change(section, { x: 1 }, undefined), nobody), `${section}: deleted`)
  }
})

t.test('a real server is moved with the right for that move, and changed with the right to change it', async (test) => {
  const drained = change('realServers', realServer('a'), realServer('a', { state: 'drained' }))
  test.equal(missedRight(drained, only('realServers.drain')), undefined)
  test.same(missedRight(drained, only('realServers.halt')), ['realServers.update', 'realServers.drain'])
  const heavier = change('realServers', realServer('a'), realServer('a', { state: 'drained', weight: 1 }))
  test.same(
    missedRight(heavier, only('realServers.drain')),
    ['realServers.update'],
    'the weight came from another user',
  )
  test.equal(missedRight(heavier, only('realServers.update')), undefined)
  const made = change('realServers', undefined, realServer('a', { state: 'drained' }))
  test.same(missedRight(made, only('realServers.drain')), ['realServers.create'])
})

t.test('roles of a group need the right to manage roles, not the right to rename a group', async (test) => {
  const given = change('groups', { id: 'g', name: 'g', roles: [] }, { id: 'g', name: 'g', roles: ['r'] })
  test.ok(missedRight(given, only('groups.update', 'groups.create')))
  test.equal(missedRight(given, only('roles.update')), undefined)
  const holder = change('users', user('u'), user('u', { roles: ['r'] }))
  test.equal(missedRight(holder, only('roles.create')), undefined)
  test.ok(missedRight(change('users', user('u'), user('u', { disabled: true })), only('roles.create')))
})

t.test('settings not yet stored count field by field', async (test) => {
  const zone = change('clocks', undefined, { id: 'n', timezone: 'UTC', ntp: null })
  test.equal(missedRight(zone, only('dateTime.timezone')), undefined)
  test.ok(missedRight(zone, only('dateTime.ntp')))
  const both = change('clocks', undefined, { id: 'n', timezone: 'UTC', ntp: { enabled: true, servers: [] } })
  test.ok(missedRight(both, only('dateTime.timezone')))
})

t.test('a restore belongs to its author, except changes of rights', async (test) => {
  const restored = change('realServers', undefined, realServer('a'), 'backups.restore')
  test.equal(missedRight(restored, only('backups.restore')), undefined)
  test.ok(missedRight(restored, only('revisions.restore')))
  const people = change('users', undefined, user('u'), 'backups.restore')
  test.ok(missedRight(people, only('backups.restore')))
  test.equal(missedRight(people, only('backups.restore', 'roles.create')), undefined)
})

t.test('a refusal names every change, its author and the right', async (test) => {
  const foreign = [change('users', user('u'), undefined), { ...change('roles', { name: 'r' }, undefined), id: 'd' }]
  const error = await refuses(test, 'PERMISSION_DENIED', () =>
    refuseForeign(foreign, () => false, 'go on like this', NOTHING),
  )
  test.match(error.message, /2 of these changes are not yours to make: go on like this/)
  test.match(error.details.errors, [
    {
      field: 'c',
      code: 'PERMISSION_DENIED',
      message: /user u@example\.test \(k\) by a@b needs the right localUsers\.delete/,
    },
    { field: 'd', code: 'PERMISSION_DENIED', message: /roles\.delete/ },
  ])
  refuseForeign(foreign, () => true, '', NOTHING)
})

t.test('records of users and their rights are records of access', async (test) => {
  test.ok(isOfAccess([{ section: 'realServers' }, { section: 'radiusUsers' }]))
  test.notOk(isOfAccess([{ section: 'realServers' }, { section: 'nodeIdentities' }]))
})

t.test('a user who may change some records of a kind refers only to readable ones', async (test) => {
  const records = new Map([
    ['shop-1', realServer('shop-1')],
    ['bank-1', realServer('bank-1')],
  ])
  const view = () => ({ get: (_section: string, id: string) => records.get(id) as never })
  const isShop = (record: unknown) =>
    record === undefined || String(Reflect.get(Object(record), 'id')).startsWith('shop')
  const partly: May = (name, touched) =>
    touched !== undefined &&
    ['l7Backends.update', 'l7Backends.create', 'realServers.get'].includes(name) &&
    isShop(touched.before) &&
    isShop(touched.after)
  const shop = (...reals: readonly string[]) => backend('shop', reals)
  refuseForeign([change('l7Backends', shop(), shop('shop-1'))], partly, '', view)
  const reaching = change('l7Backends', shop('shop-1'), shop('shop-1', 'bank-1'))
  const error = await refuses(test, 'PERMISSION_DENIED', () => refuseForeign([reaching], partly, '', view))
  test.match(
    error.details.errors?.[0]?.message,
    /needs the right realServers\.get for the real server .* in reals\.1\.ripId/,
  )
  refuseForeign([change('l7Backends', shop('bank-1'), shop('bank-1', 'shop-1'))], partly, '', view)
  const gone = change('l7Backends', undefined, shop('shop-2'))
  await refuses(test, 'PERMISSION_DENIED', () => refuseForeign([gone], partly, '', view))
  const made = { ...change('realServers', undefined, realServer('shop-2')), key: 'shop-2' }
  const both: May = (name, touched) =>
    partly(name, touched) || (name === 'realServers.create' && isShop(touched?.after))
  refuseForeign([made, gone], both, '', view)
  refuseForeign([reaching], only('l7Backends.update'), '', view)
})
