import t from 'tap'
import { principalOf } from '../../../src/auth/principal.ts'
import { EVERYTHING } from '../../backup-fixture.ts'
import { viewOf } from '../../view-fixture.ts'

t.test('a local user and one of RADIUS are found by their ids; others are nobody', async (test) => {
  const names = { firstName: 'A', lastName: 'B', disabled: true, passwordHash: 'x', groups: ['ops'], roles: ['role-1'] }
  const view = viewOf({ ...EVERYTHING, users: [{ id: 'u', email: 'a@example.org', ...names }] })
  test.match(principalOf(view, 'u'), { name: 'a@example.org', disabled: true, groups: ['ops'], roles: ['role-1'] })
  test.match(principalOf(view, 'radius-1'), { name: 'alice', disabled: false, groups: ['ops'], roles: [] })
  test.equal(principalOf(view, 'ops'), undefined)
})
