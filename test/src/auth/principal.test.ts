import t from 'tap'
import { principalOf } from '../../../src/auth/principal.ts'
import { EVERYTHING } from '../../fixtures/backup.ts'
import { viewOf } from '../../fixtures/view.ts'

t.test('a local user and a RADIUS user are found by their ids; other ids are unknown', async (test) => {
  const names = { firstName: 'A', lastName: 'B', disabled: true, passwordHash: 'x', groups: ['ops'], roles: ['role-1'] }
  const view = viewOf({ ...EVERYTHING, users: [{ id: 'u', email: 'a@example.org', ...names }] })
  test.match(principalOf(view, 'u'), { name: 'a@example.org', disabled: true, groups: ['ops'], roles: ['role-1'] })
  test.match(principalOf(view, 'radius-1'), { name: 'alice', disabled: false, groups: ['ops'], roles: [] })
  test.equal(principalOf(view, 'ops'), undefined)
})

t.test('a RADIUS user is unknown while RADIUS is off, unmapped, or named like a local user', async (test) => {
  const [config] = EVERYTHING.radiusConfigs
  if (config === undefined) throw new Error('the fixture has no RADIUS')
  const off = viewOf({ ...EVERYTHING, radiusConfigs: [{ ...config, enabled: false }] })
  test.equal(principalOf(off, 'radius-1'), undefined)
  const unmapped = viewOf({ ...EVERYTHING, radiusConfigs: [{ ...config, groupMappings: [] }] })
  test.match(principalOf(unmapped, 'radius-1'), { groups: [] })
  const names = { firstName: '', lastName: '', disabled: false, passwordHash: 'x', groups: [], roles: [] }
  const twice = viewOf({ ...EVERYTHING, users: [{ id: 'u', email: 'Alice', ...names }] })
  test.equal(principalOf(twice, 'radius-1'), undefined)
})
