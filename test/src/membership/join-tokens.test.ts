import t from 'tap'
import type { StoredJoinToken } from '../../../src/cluster/join-token.ts'
import { JoinTokens } from '../../../src/membership/join-tokens.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const PIN = Buffer.alloc(32, 1).toString('base64url')
const ADDRESSES = ['192.0.2.1:9444']

t.test('a token is stored without its secret, and deleted when another is made after its expiry', async (t) => {
  const { joinTokens } = openStore(t)
  const clock = manualClock()
  const tokens = new JoinTokens(joinTokens, clock)
  const first = await tokens.create({ role: 'node', issuedBy: 'lb1', validFor_ms: 60_000 }, PIN, ADDRESSES)
  const [, , secret = ''] = first.toText().split('.')
  t.notOk(JSON.stringify(joinTokens.entries()).includes(secret))
  t.match(await tokens.kept(first.id), { id: first.id, role: 'node' })
  clock.advance(60_000)
  const second = await tokens.create({ role: 'node', issuedBy: 'lb1', validFor_ms: 60_000 }, PIN, ADDRESSES)
  t.equal(await tokens.kept(first.id), undefined)
  t.match(await tokens.kept(second.id), { id: second.id })
})

t.test('of two concurrent uses, the second sees the result of the first', async (t) => {
  const tokens = new JoinTokens(openStore(t).joinTokens, manualClock())
  const { id } = await tokens.create({ role: 'node', issuedBy: 'lb1', validFor_ms: 60_000 }, PIN, ADDRESSES)
  const refusal = { refusal: 'TOKEN_USED', message: 'used' } as const
  const use = (usedBy: string) =>
    tokens.use(id, (kept: StoredJoinToken) => (kept.usedBy === undefined ? { used: { ...kept, usedBy } } : refusal))
  t.match(await Promise.all([use('a'), use('b')]), [{ used: { usedBy: 'a' } }, refusal])
  t.match(await tokens.kept(id), { usedBy: 'a' })
  t.equal(await tokens.use('another', () => refusal), undefined)
})

t.test('unused tokens of a removed node end with it, and so does the token that it has used', async (t) => {
  const tokens = new JoinTokens(openStore(t).joinTokens, manualClock())
  const make = async (issuedBy: string, usedBy?: string) => {
    const { id } = await tokens.create({ role: 'node', issuedBy, validFor_ms: 60_000 }, PIN, ADDRESSES)
    if (usedBy !== undefined) await tokens.use(id, (kept: StoredJoinToken) => ({ used: { ...kept, usedBy } }))
    return id
  }
  const [unused, used, own, others] = [
    await make('lb1'),
    await make('lb1', 'lb2'),
    await make('lb2', 'lb1'),
    await make('lb2'),
  ]
  await tokens.endOf('lb1')
  t.same(await Promise.all([unused, used, own, others].map(async (id) => (await tokens.kept(id)) !== undefined)), [
    false,
    true,
    false,
    true,
  ])
})
