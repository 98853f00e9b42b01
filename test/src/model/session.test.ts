import t from 'tap'
import { Compile } from 'typebox/compile'
import { SessionShown, TokenShown } from '../../../src/model/session.ts'

const AT = '2026-01-02T03:04:05.000Z'

t.test('sessions and tokens as shown hold no secret', async (test) => {
  for (const schema of [SessionShown, TokenShown]) {
    const names = Object.keys(schema.properties)
    test.notOk(
      names.some((name) => /secret|hash|password|^token$/i.test(name)),
      names.join(),
    )
  }
  const token = {
    id: '0198c0de-0000-7000-8000-000000000001',
    userId: '0198c0de-0000-7000-8000-000000000001',
    userName: 'a@b',
    name: 'n',
    createdAt: AT,
    expiresAt: null,
  }
  test.ok(Compile(TokenShown).Check({ ...token, endpoints: null }))
  test.ok(Compile(TokenShown).Check({ ...token, endpoints: ['x'] }))
})
