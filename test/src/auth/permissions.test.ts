import t from 'tap'
import { DEFAULT_ROLES, endpointId } from '../../../src/api/access.ts'
import { passwordWasShown, prepareAccess } from '../../../src/auth/first-start.ts'
import { Passwords } from '../../../src/auth/password.ts'
import { LOCAL_ROOT } from '../../../src/auth/local-root.ts'
import { IN_PART, Permissions, WHOLLY } from '../../../src/auth/permissions.ts'
import { Principals } from '../../../src/auth/principals.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { configView } from '../../../src/config/views.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import { endpoints } from '../../../src/resources/index.ts'
import { configFixture, user } from '../../fixtures/config.ts'

const place = (name: string) => endpoints.findIndex((endpoint) => endpoint.name === name)
const permissionsIn = (view: ConfigView) => new Permissions(endpoints, view, new Principals(view, () => undefined))
const roleId = (name: string) => DEFAULT_ROLES.find((role) => role.name === name)?.id ?? ''

t.test('rights are the union of direct roles and roles of groups, from running only', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const permissions = permissionsIn(configView(store.running))
  const ping = endpoints[place('realServers.list')]
  const drain = endpoints[place('realServers.drain')]
  if (ping === undefined || drain === undefined) throw new Error('the table lacks the endpoints of this test')
  await edit((draft) => {
    draft.section('roles').create({ id: 'r1', name: 'r1', builtin: false, endpoints: [endpointId(ping)] })
    draft.section('roles').create({ id: 'r2', name: 'r2', builtin: false, endpoints: [endpointId(drain)] })
    draft.section('groups').create({ id: 'g', name: 'g', roles: ['r2'] })
    draft.section('users').create(user('u', { roles: ['r1'], groups: ['g'] }))
  })
  test.equal(permissions.of('u'), undefined)
  await promote()
  permissions.invalidate()
  const granted = permissions.of('u')?.granted
  test.same(endpoints.flatMap((endpoint, i) => (granted?.[i] === 1 ? [endpoint.name] : [])).sort(), [
    'realServers.drain',
    'realServers.list',
  ])
  await edit((draft) => draft.section('users').merge('u', { disabled: true }))
  await promote()
  permissions.invalidate()
  test.equal(permissions.of('u'), undefined)
})

t.test('the first start creates the default roles and one administrator, once', async (test) => {
  const { store } = configFixture(test)
  const passwords = new Passwords()
  const first = await prepareAccess(store, passwords, systemClock, { email: 'root@localhost', password: undefined })
  test.match(first, { email: 'root@localhost', oneTimePassword: /^[\w-]{20}$/ })
  await passwordWasShown(store)
  test.equal(await prepareAccess(store, passwords, systemClock, { email: 'x@y', password: undefined }), undefined)
  test.same(
    configView(store.running).list('roles') &&
      [...configView(store.running).list('roles')].map((role) => role.name).sort(),
    ['Administrator', 'Auditor', 'Backup', 'Certificates', 'Manager', 'Monitoring', 'Operator'],
  )
  const rights = permissionsIn(configView(store.running)).of(first?.id ?? '')
  test.ok(rights?.granted.every((flag) => flag === 1))
})

const GOING_LIVE = ['pending', 'apply', 'confirm', 'revertApply', 'discard', 'discardAll'].map(
  (name) => `services.${name}`,
)

t.test('default roles grant what the contract says', async (test) => {
  const grants = (role: string, name: string) => {
    const endpoint = endpoints[place(name)]
    const rule = DEFAULT_ROLES.find((candidate) => candidate.id === roleId(role))
    return endpoint !== undefined && rule?.grants(endpoint) === true
  }
  const table: Record<string, readonly [yes: readonly string[], no: readonly string[]]> = {
    Manager: [
      ['realServers.create', 'services.apply', 'l7Frontends.delete'],
      ['localUsers.create', 'roles.update', 'groups.delete'],
    ],
    Operator: [
      ['realServers.drain', 'realServers.halt', 'realServers.online', 'services.reload', ...GOING_LIVE],
      ['realServers.create', 'services.restart', 'services.update', 'localUsers.delete', 'l7Backends.update'],
    ],
    Monitoring: [
      ['l7Stats.all', 'l7History.rip', 'l4Stats.all', 'l4NodeHistory.rip', 'services.list'],
      ['localUsers.list', 'realServers.list', 'services.reload'],
    ],
    Auditor: [
      ['localUsers.list', 'services.pending', 'roles.get'],
      ['realServers.drain', 'services.apply', 'auth.login'],
    ],
    Certificates: [
      ['certificates.create', ...GOING_LIVE],
      ['realServers.list', 'services.validate', 'revisions.list'],
    ],
    Backup: [
      ['backups.restore', ...GOING_LIVE],
      ['realServers.list', 'services.validate', 'revisions.list'],
    ],
  }
  for (const [role, [yes, no]] of Object.entries(table)) {
    for (const name of yes) test.ok(grants(role, name), `${role} may ${name}`)
    for (const name of no) test.notOk(grants(role, name), `${role} may not ${name}`)
  }
})

t.test('a partial right is a separate flag, and less than a whole one', async (test) => {
  const { edit, promote, store } = configFixture(test)
  const permissions = permissionsIn(configView(store.running))
  const idOf = (name: string) => endpointId(endpoints[place(name)] ?? { method: '', path: '' })
  const [update, list, apply] = ['realServers.update', 'realServers.list', 'services.apply'].map(idOf)
  if (update === undefined || list === undefined || apply === undefined) throw new Error('no such endpoint')
  const shop = { names: ['shop-*'] }
  const bank = { owner: 'bank' }
  await edit((draft) => {
    const roles = draft.section('roles')
    const confined = [update, list, apply, 'gone'].map((endpoint) => ({ endpoint, where: shop }))
    roles.create({ id: 'r1', name: 'r1', builtin: false, endpoints: [], confined })
    roles.create({ id: 'r2', name: 'r2', builtin: false, endpoints: [], confined: [{ endpoint: update, where: bank }] })
    roles.create({ id: 'r3', name: 'r3', builtin: false, endpoints: [list] })
    draft.section('users').create(user('u', { roles: ['r1', 'r2', 'r3'] }))
    draft.section('users').create(user('v', { roles: ['r3'] }))
  })
  await promote()
  permissions.invalidate()
  const rights = permissions.of('u')
  test.equal(rights?.granted[place('realServers.update')], IN_PART)
  test.equal(rights?.granted[place('realServers.list')], WHOLLY)
  test.equal(rights?.granted[place('services.apply')], 0, 'no area applies to it')
  test.same(permissions.told(rights), {
    endpoints: endpoints.map(endpointId).filter((id) => id === update || id === list),
    confined: [
      { endpoint: update, where: shop },
      { endpoint: update, where: bank },
    ],
  })
  test.equal(permissions.of('v')?.areas, undefined)
  if (rights === undefined) throw new Error('the user is there')
  const narrowed = permissions.narrowed(rights, [update])
  test.equal(narrowed.granted[place('realServers.update')], IN_PART, 'a token adds nothing to it')
  test.equal(narrowed.granted[place('realServers.list')], 0)
})

t.test(
  'a user under the id of local root, as a backup may have one, holds only the rights of the roles',
  async (test) => {
    const { edit, promote, store } = configFixture(test)
    const permissions = permissionsIn(configView(store.running))
    test.match(permissions.of(LOCAL_ROOT.userId), { isProgram: true })
    await edit((draft) => draft.section('users').create(user(LOCAL_ROOT.userId)))
    await promote()
    permissions.invalidate()
    test.ok(permissions.of(LOCAL_ROOT.userId)?.granted.every((flag) => flag === 0))
    await edit((draft) => draft.section('users').merge(LOCAL_ROOT.userId, { disabled: true }))
    await promote()
    permissions.invalidate()
    test.equal(permissions.of(LOCAL_ROOT.userId), undefined)
  },
)

t.test('local root may do everything, whatever the roles say, and has no account', async (test) => {
  const { store } = configFixture(test)
  const permissions = permissionsIn(configView(store.running))
  for (const _ of [1, 2]) {
    test.match(permissions.of(LOCAL_ROOT.userId), { email: 'local root', isProgram: true })
    test.ok(permissions.of(LOCAL_ROOT.userId)?.granted.every((flag) => flag === WHOLLY))
    permissions.invalidate()
  }
})
