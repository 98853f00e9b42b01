import t from 'tap'
import { refuseOverRights } from '../../../src/config/over-rights.ts'
import { realServer, refuses, user } from '../../fixtures/config.ts'

t.test('changes of users, groups and roles need the right to manage roles', async (test) => {
  const rip = { section: 'realServers', id: 'r', before: undefined, after: realServer('r') } as const
  const person = { section: 'users', id: 'u', before: user('u'), after: undefined } as const
  refuseOverRights([rip], false)
  refuseOverRights([rip, person], true)
  await refuses(test, 'PERMISSION_DENIED', () => refuseOverRights([rip, person], false))
})
