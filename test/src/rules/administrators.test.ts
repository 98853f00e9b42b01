import t, { type Test } from 'tap'
import { refuseLastAdministrator, verifyAdministrators } from '../../../src/rules/administrators.ts'
import type { Draft } from '../../../src/config/draft.ts'
import { configView } from '../../../src/config/views.ts'
import { configFixture, user } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const ROLE = 'administrator'

/** The problems of a candidate with the role, another role, and what `work` adds. */
async function problems(test: Test, work: (draft: Draft) => void) {
  const { edit, store } = configFixture(test)
  await edit((draft) => {
    for (const id of [ROLE, 'other']) draft.section('roles').create({ id, name: id, builtin: true, endpoints: [] })
    work(draft)
  })
  return verifyAdministrators(configView(store.candidate), ROLE)
}

t.test('an enabled user with the role suffices, in any position', async (test) => {
  const found = await problems(test, (draft) => {
    draft.section('users').create(user('a'))
    draft.section('users').create(user('b', { disabled: true, roles: [ROLE] }))
    draft.section('users').create(user('c', { roles: ['other', ROLE] }))
  })
  test.same(found, [])
})

t.test('so does a member of a group with the role', async (test) => {
  const found = await problems(test, (draft) => {
    draft.section('groups').create({ id: 'g', name: 'g', roles: ['other'] })
    draft.section('groups').create({ id: 'h', name: 'h', roles: [ROLE] })
    draft.section('users').create(user('a', { groups: ['g', 'h'] }))
  })
  test.same(found, [])
})

t.test('no user, only disabled users, or a group without members: a problem that names the role', async (test) => {
  const candidates: readonly ((draft: Draft) => void)[] = [
    () => undefined,
    (draft) => draft.section('users').create(user('a', { roles: ['other'] })),
    (draft) => draft.section('users').create(user('a', { roles: [ROLE], disabled: true })),
    (draft) => {
      draft.section('groups').create({ id: 'g', name: 'g', roles: [ROLE] })
      draft.section('users').create(user('a'))
      draft.section('users').create(user('b', { groups: ['g'], disabled: true }))
    },
  ]
  for (const candidate of candidates) {
    test.match(await problems(test, candidate), [{ section: 'roles', id: ROLE, field: 'users', message: /nobody/ }])
  }
})

t.test('a record with the id of the Administrator role, but no default role, makes no administrator', async (test) => {
  const view = (builtin: boolean) =>
    viewOf({
      users: [user('u', { roles: ['admin'] })],
      roles: [{ id: 'admin', name: 'Administrator', builtin, endpoints: [] }],
    })
  test.same(verifyAdministrators(view(true), 'admin'), [])
  test.equal(verifyAdministrators(view(false), 'admin').length, 1)
})

t.test('an edit that leaves no administrator is refused, unless there was none before', async (test) => {
  const roles = [{ id: ROLE, name: 'Administrator', builtin: true, endpoints: [] }]
  const having = viewOf({ roles, users: [user('u', { roles: [ROLE] })] })
  const lacking = viewOf({ roles, users: [user('u', { roles: [ROLE], disabled: true })] })
  test.throws(() => refuseLastAdministrator(having, lacking, ROLE), { code: 'IN_USE', message: /Administrator/ })
  test.doesNotThrow(() => refuseLastAdministrator(having, having, ROLE))
  test.doesNotThrow(() => refuseLastAdministrator(lacking, lacking, ROLE), 'it may be the way out')
  test.doesNotThrow(() => refuseLastAdministrator(lacking, having, ROLE))
})

t.test('with enforced single sign-on, a break-glass user remains an administrator', async (test) => {
  const saml = {
    id: 'cluster',
    enabled: true,
    enforced: true,
    idpEntityId: 'i',
    idpSsoUrl: 'https://i.test',
    idpCertificates: [],
    baseUrl: 'https://lb.test',
    emailAttribute: '',
    breakGlassUserId: 'u',
  }
  const roles = [{ id: ROLE, name: 'Administrator', builtin: true, endpoints: [] }]
  const other = user('v', { roles: [ROLE] })
  const having = viewOf({ roles, samlConfigs: [saml], users: [user('u', { roles: [ROLE] }), other] })
  const lacking = viewOf({ roles, samlConfigs: [saml], users: [user('u'), other] })
  const error = { code: 'IN_USE', message: /breakGlassUserId/ }
  test.throws(() => refuseLastAdministrator(having, lacking, ROLE), error)
  test.doesNotThrow(() => refuseLastAdministrator(lacking, lacking, ROLE), 'it may be the way out')
  const moved = viewOf({ roles, samlConfigs: [{ ...saml, breakGlassUserId: 'v' }], users: [user('u'), other] })
  test.doesNotThrow(() => refuseLastAdministrator(having, moved, ROLE))
})
