import t, { type Test } from 'tap'
import type { SharedTable } from '../../../storage/config/config-store.ts'
import { ApiTokens } from '../../../src/auth/api-tokens.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

function fixture(test: Test) {
  const store = openStore(test)
  const clock = manualClock(1_000_000)
  const open = () => new ApiTokens(store.apiTokens, store.owed, clock)
  return { store, clock, open }
}

const ANY = { name: 'poller', endpoints: undefined, expiresAt_ms: undefined }

t.test('a token is recognised by its secret, also after a restart; only its hash is stored', async (test) => {
  const { store, open } = fixture(test)
  const { id, token } = await open().create('u', ANY)
  test.match(token, new RegExp(`^fulcrum_${id}_[A-Za-z0-9_-]{43}$`))
  test.ok(ApiTokens.isOne(token))
  test.match(open().authenticate(token), { id, userId: 'u', name: 'poller' })
  const secret = token.slice(-43)
  test.notOk(JSON.stringify(store.apiTokens.entries()).includes(secret))
})

t.test('anything but the exact token is refused', async (test) => {
  const { open } = fixture(test)
  const tokens = open()
  const { id, token } = await tokens.create('u', ANY)
  const other = await tokens.create('u', { ...ANY, name: 'other' })
  const forged = [
    '',
    'fulcrum_',
    `fulcrum_${id}`,
    `fulcrum_${id}_`,
    token.slice(0, -1),
    `${token}A`,
    `fulcrum_${other.id}_${token.slice(-43)}`,
    'fulcrum___proto___x',
    'fulcrum_constructor_x',
  ]
  for (const text of forged) test.equal(tokens.authenticate(text), undefined, text)
})

t.test('it ends at its expiry, and with its revocation, at once and for ever', async (test) => {
  const { clock, open } = fixture(test)
  const tokens = open()
  const short = await tokens.create('u', { ...ANY, expiresAt_ms: clock.now_ms() + 1000 })
  const long = await tokens.create('u', { ...ANY, name: 'long' })
  const others = await tokens.create('v', ANY)
  test.ok(tokens.authenticate(short.token))
  clock.advance(1000)
  test.equal(tokens.authenticate(short.token), undefined)
  test.equal(await tokens.revoke(({ id, userId }) => id === others.id && userId === 'u'), 0, 'of another user')
  test.equal(await tokens.revoke(({ id }) => id === long.id), 1)
  test.equal(tokens.authenticate(long.token), undefined)
  test.equal(open().authenticate(long.token), undefined, 'also after a restart')
  test.same(
    tokens.list('u').map(({ id }) => id),
    [short.id],
  )
  test.equal(tokens.list().length, 2)
})

t.test('a token revoked without a quorum ends here for ever, and everywhere when the quorum is back', async (test) => {
  const { store, clock, open } = fixture(test)
  const elsewhere = new ApiTokens(store.apiTokens, openStore(test).owed, clock)
  const made = await open().create('u', ANY)
  let hasQuorum = false
  const remove: SharedTable['remove'] = (ids) =>
    hasQuorum ? store.apiTokens.remove(ids) : Promise.reject(new ApiError('NO_QUORUM', 'too few answer'))
  const cutOff = () => new ApiTokens({ ...store.apiTokens, remove }, store.owed, clock)
  const revoked = cutOff().revoke(() => true)
  await test.rejects(revoked, { code: 'NO_QUORUM', message: /has ended on this node/ })
  const again = cutOff()
  test.equal(again.authenticate(made.token), undefined, 'nor does a start bring it back')
  test.match(elsewhere.authenticate(made.token), { id: made.id }, 'which had not been told')
  await store.apiTokens.put(made.id, store.apiTokens.entries()[0]?.value)
  test.equal(again.authenticate(made.token), undefined, 'nor do messages of the others')
  test.equal(await again.revoke(({ id }) => id === made.id), 0, 'it no longer exists, so nothing ends')
  hasQuorum = true
  await again.payOwed()
  test.equal(elsewhere.authenticate(made.token), undefined)
  test.same(store.owed.entries(), [])
})
