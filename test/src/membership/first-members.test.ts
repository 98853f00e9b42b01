import t from 'tap'
import { LEVEL } from '../../../src/cluster/levels.ts'
import { noteRestored } from '../../../src/config/restored-nodes.ts'
import { firstMembers, refusePendingIdentity } from '../../../src/membership/first-members.ts'
import { Members } from '../../../src/membership/members.ts'
import { configFixture, refuses } from '../../fixtures/config.ts'
import { FIRST_CERTIFIED } from '../../fixtures/membership.ts'

const SELF = {
  id: 'a',
  name: 'left',
  host: '192.0.2.1',
  port: 9444,
  pin: 'pin',
  spki: '',
  serials: ['1'],
  ...FIRST_CERTIFIED,
  tokenKey: '',
  version: '1.0.0',
  since: '2026-01-02T03:04:05.000Z',
}

const PAIR = { number: 1, keyId: 'k', certificates: { peer: 'p', client: 'c' } }

t.test('other nodes of a restored backup count as removed, once the identity is confirmed', async (test) => {
  const { store } = configFixture(test)
  const others = ['b', 'c'].map((id) => ({ id, hostname: `host ${id}` }))
  test.same(
    firstMembers(store, SELF, PAIR),
    [
      { table: 'members', key: 'a', value: SELF },
      { table: 'members', key: 'authorities/k', value: PAIR },
      { table: 'members', key: 'level', value: { level: LEVEL } },
    ],
    'nothing was restored',
  )
  await noteRestored(store, { nodeId: 'a', others })
  test.equal(firstMembers(store, { ...SELF, id: 'z' }, PAIR).length, 3, 'it was never applied')
  const rows = firstMembers(store, SELF, PAIR)
  await store.members.write(rows, [])
  const members = new Members(store.members)
  test.same(
    members.all().map(({ id }) => id),
    ['a'],
  )
  test.same(
    members.replaceable().map(({ id, name }) => [id, name]),
    [
      ['b', 'host b'],
      ['c', 'host c'],
    ],
  )
  await members.add(() => ({ ...SELF, id: 'b', pin: 'new' }))
  test.same(
    members.replaceable().map(({ id }) => id),
    ['c'],
  )
  test.same(
    members.removed().map(({ stage }) => stage),
    ['done', 'done'],
    'their removal is not continued',
  )
})

t.test('IN_USE: the identity of the node is pending', async (test) => {
  const { store, edit } = configFixture(test)
  refusePendingIdentity(store)
  await edit((draft) => draft.section('nodeIdentities').create({ id: 'born', nodeId: 'a' }))
  await refuses(test, 'IN_USE', () => refusePendingIdentity(store))
})
