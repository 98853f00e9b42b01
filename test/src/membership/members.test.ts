import t from 'tap'
import { type Member, Members } from '../../../src/membership/members.ts'
import { openStore } from '../../fixtures/config.ts'
import { FIRST_CERTIFIED } from '../../fixtures/membership.ts'

const member = (id: string, since: string): Member => ({
  id,
  name: `name of ${id}`,
  host: '192.0.2.1',
  port: 9444,
  pin: `pin of ${id}`,
  spki: `key of ${id}`,
  serials: [],
  ...FIRST_CERTIFIED,
  tokenKey: '',
  version: '1.0.0',
  since,
})

t.test('members are found by id and key, in the order in which they joined', async (t) => {
  const store = openStore(t)
  const members = new Members(store.members)
  let told = 0
  members.follow(() => (told += 1))
  await members.add(() => member('b', '2026-01-02'))
  await members.add(() => member('a', '2026-01-01'))
  t.same(
    members.all().map(({ id }) => id),
    ['a', 'b'],
  )
  t.equal(members.idOf('pin of b'), 'b')
  t.equal(members.get('a')?.name, 'name of a')
  t.equal(told, 2)
  t.same(new Members(store.members).all(), members.all(), 'also after a start')
})

t.test('a removed member, or one with a new key, is not found by the old one', async (t) => {
  const members = new Members(openStore(t).members)
  await members.add(() => member('a', '2026-01-01'))
  await members.add(() => ({ ...member('a', '2026-01-01'), pin: 'another' }))
  t.same([members.idOf('pin of a'), members.idOf('another')], [undefined, 'a'])
  const of = { stage: 'marked', at: '2026-02-01', by: 'b', isLeaving: false, keyId: 'k' } as const
  t.equal(await members.remove(() => undefined), false)
  const gone = members.get('a')
  await members.remove(() => gone && { member: gone, ...of })
  t.same([members.idOf('another'), members.get('a'), members.all()], [undefined, undefined, []])
  t.match(members.removalOf('another'), { member: { name: 'name of a' }, stage: 'marked' })
  const [removed] = members.removed()
  await members.mark(() => removed && { ...removed, stage: 'done' })
  t.equal(members.removalOf('another')?.stage, 'done')
  t.match(members.replaceable(), [{ id: 'a' }])
  await members.add(() => ({ ...member('a', '2026-03-01'), pin: 'new' }))
  t.same(members.replaceable(), [], 'its place is taken')
  t.same([members.idOf('new'), members.removed().length], ['a', 1], 'it may come again, with another key')
  await members.forget(['another'])
  t.same(members.removed(), [])
})

t.test('keys of the cluster are returned in order', async (t) => {
  const { members: table } = openStore(t)
  const members = new Members(table)
  for (const number of [2, 1])
    await members.tellKey(() => ({ keyId: `k${number}`, number, at: '', sender: '', sealedFor: {} }))
  t.equal(await members.tellKey(() => undefined), false)
  t.same(
    new Members(table).keyNotices().map(({ keyId }) => keyId),
    ['k1', 'k2'],
  )
  t.same(members.all(), [])
})

t.test('authorities are returned in order, and can be dropped', async (t) => {
  const { members: table } = openStore(t)
  const members = new Members(table)
  const pairs = [2, 1].map((number) => ({ number, keyId: `k${number}`, certificates: { peer: 'p', client: 'c' } }))
  for (const pair of pairs) t.equal(await members.tellAuthorities(() => pair), true)
  t.equal(await members.tellAuthorities(() => undefined), false)
  t.same(new Members(table).authorities(), pairs.toReversed())
  t.equal(await members.dropAuthorities(() => []), false)
  t.equal(await members.dropAuthorities(() => pairs.slice(1)), true)
  t.same(members.authorities(), pairs.slice(0, 1))
  t.same(members.all(), [])
})

t.test('a node is admitted unless something prevents it', async (t) => {
  const members = new Members(openStore(t).members)
  t.equal(await members.add(() => undefined), false)
  t.equal(await members.add(() => member('a', '2026-01-01')), true)
  t.match(members.all(), [{ id: 'a' }])
})

t.test('a witness votes, and is in no list of nodes', async (t) => {
  const { members: table } = openStore(t)
  const members = new Members(table)
  await members.add(() => member('a', '2026-01-01'))
  t.equal(await members.addWitness(() => undefined), false)
  const { spki: _spki, tokenKey: _tokenKey, ...witness } = member('w', '2026-01-02')
  t.equal(await members.addWitness(() => witness), true)
  const names = (voters: readonly { readonly id: string }[]) => voters.map(({ id }) => id)
  for (const known of [members, new Members(table)]) {
    t.same([names(known.all()), names(known.voters()), known.othersThan('a')], [['a'], ['a', 'w'], []])
    t.same([known.get('w'), known.idOf(witness.pin), known.voter('w')?.id], [undefined, undefined, 'w'])
  }
  t.equal(await members.changeWitness('x', (known) => known), false)
  await members.changeWitness('w', (known) => ({ ...known, trusts: 7 }))
  t.equal(members.witness?.trusts, 7)

  t.comment('removed, its vote may count until etcd has dropped it, and no node takes its place')
  const mark = { member: witness, at: '', by: 'a', isLeaving: false, isWitness: true, keyId: 'k' } as const
  await members.remove(() => ({ ...mark, stage: 'marked' }))
  t.same([members.witness, names(members.voters())], [undefined, ['a']])
  t.same([...members.mayVote()], ['a', 'w'])
  await members.mark(() => ({ ...mark, stage: 'done' }))
  t.same([[...members.mayVote()], members.replaceable()], [['a'], []])
})
