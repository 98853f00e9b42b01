import t from 'tap'
import { OF_THE_TOKEN, refusedWith } from '../../../../src/peers/joining/join-error.ts'

t.test("a member's refusal keeps its code, and that of a later version is a refusal", async (t) => {
  t.match(refusedWith('TOKEN_USED', 'it was used'), { code: 'TOKEN_USED', message: 'it was used' })
  t.match(refusedWith('OF_LATER', 'it is new'), { code: 'REFUSED', message: 'it is new' })
})

t.test(
  'another token helps where the token is invalid, and not where the member, the clock or the place is',
  async (t) => {
    t.same(
      ['WRONG_PIN', 'WRONG_PROOF', 'TOKEN_UNKNOWN', 'TOKEN_EXPIRED', 'TOKEN_USED', 'OTHER_ROLE'].filter(
        (code) => !OF_THE_TOKEN.has(refusedWith(code, '').code),
      ),
      [],
    )
    for (const code of ['LOST', 'BUSY', 'CLOCK_SKEW', 'ADDRESS_UNREACHABLE', 'OTHER_VERSION'])
      t.notOk(OF_THE_TOKEN.has(refusedWith(code, '').code), code)
  },
)
