import t from 'tap'
import { Compile } from 'typebox/compile'
import { SessionShown, TokenShown } from '../../../src/model/session.ts'

t.test('sessions and tokens as they are shown hold no secret', async (test) => {
  for (const schema of [SessionShown, TokenShown]) {
    const names = Object.keys(schema.properties)
    test.notOk(
      names.some((name) => /secret|hash|password|^token$/i.test(name)),
      names.join(),
    )
  }
  const token = { id: 'i', userId: 'u', userName: 'a@b', name: 'n', createdAt: '', expiresAt: null }
  test.ok(Compile(TokenShown).Check({ ...token, endpoints: null }))
  test.ok(Compile(TokenShown).Check({ ...token, endpoints: ['x'] }))
})
