import t from 'tap'
import { issueToken } from '../../../src/membership/token-issue.ts'
import { refuses } from '../../fixtures/config.ts'
import { twoNodes } from '../../fixtures/witnessed.ts'

t.test('a token says what it admits, and is refused where that is impossible', async (t) => {
  const { members, tokens, files, own, clock } = await twoNodes(t)
  const parts = {
    cluster: { own, tokens, isReachable: () => true },
    members,
    ca: () => files.certificates().client.ca,
    clock,
    wait: async () => undefined,
  }
  for (const role of ['node', 'witness'] as const) {
    const { id, token } = await issueToken(parts, role, 60)
    t.match(await tokens.kept(id), { role, issuedBy: 'a' })
    t.match(token, /^fj1\..*127\.0\.0\.1:\d+$/)
  }
  await members.addWitness(() => ({ ...(members.get('b') as object), id: 'w', name: 'third' }) as never)
  await refuses(t, 'LIMIT_REACHED', issueToken(parts, 'witness', 60))
  await issueToken(parts, 'node', 60)
})
