import t from 'tap'
import { openedSession } from '../../../../src/resources/sign-in/opened-session.ts'

t.test('a new session is answered with user, node, and the remaining steps', async (test) => {
  const data = {
    user: { id: 'u', email: 'a@b', name: 'A B' },
    token: 'jwt',
    mustEnrol: false,
    via: 'password',
    ended: [],
  } as const
  const noted: unknown[] = []
  const node = { nodeId: 'n', version: '1', work: { noteLogin: (session: unknown) => void noted.push(session) } }
  test.match(openedSession(node, data), {
    user: { id: 'u', email: 'a@b', name: 'A B', extra: [] },
    token: 'jwt',
    appliance_id: 'n',
    applianceVersion: '1',
    licence: { licenceType: 'community' },
  })
  test.same(noted, [data], 'it is in the audit log')
  test.notOk('mustEnrol' in openedSession(node, data))
  test.equal(openedSession(node, { ...data, mustEnrol: true }).mustEnrol, true)
})
