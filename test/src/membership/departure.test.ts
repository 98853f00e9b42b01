import t, { type Test } from 'tap'
import { Departure } from '../../../src/membership/departure.ts'
import { Members } from '../../../src/membership/members.ts'
import { openStore, refuses } from '../../fixtures/config.ts'

/** The node `a` of these. */
async function nodeA(test: Test, ids: readonly string[]) {
  const members = new Members(openStore(test).members)
  for (const id of ids) await members.add(() => ({ id, name: `node ${id}`, since: id }) as never)
  const state = {
    isMember: true,
    hasQuorum: true,
    away: [] as string[],
    stuck: undefined as string | undefined,
    left: [] as string[],
  }
  const done: string[] = []
  const departure = new Departure({
    nodeId: 'a',
    cluster: () =>
      state.isMember ? { hasQuorum: state.hasQuorum, isReachable: (id) => !state.away.includes(id) } : undefined,
    members,
    maintenance: { begin: async (reason, isForced) => void done.push(`${reason} ${isForced}`) },
    addresses: { whyStuck: async () => state.stuck, leave: async () => (done.push('leave'), state.left) },
  })
  return { departure, members, state, done }
}

t.test('nothing blocks a node that the others do not need', async (t) => {
  for (const ids of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    const { departure } = await nodeA(t, ids)
    await departure.refuse(false)
  }
  const { departure, done } = await nodeA(t, ['a', 'b'])
  await departure.begin('reboot', false)
  t.same(done, ['reboot false', 'leave'])
})

t.test('another one in maintenance comes first', async (t) => {
  const { departure, members } = await nodeA(t, ['a', 'b', 'c'])
  await members.change('c', (member) => ({ ...member, maintenance: { since: '', by: 'ann' } }))
  t.match((await refuses(t, 'IN_USE', departure.refuse(false))).message, /node c is in maintenance.*force=true/)
  await departure.refuse(true)
})

t.test('its vote may be the one that is needed', async (t) => {
  const { departure, state } = await nodeA(t, ['a', 'b', 'c'])
  state.away = ['b']
  t.match((await refuses(t, 'IN_USE', departure.refuse(false))).message, /no changes would be possible, because node b/)
  state.hasQuorum = false
  await departure.refuse(false)
  const five = await nodeA(t, ['a', 'b', 'c', 'd', 'e'])
  five.state.away = ['b']
  await five.departure.refuse(false)
  five.state.away = ['b', 'c']
  await refuses(t, 'IN_USE', five.departure.refuse(false))
})

t.test('addresses that no node takes over are reported before, and afterwards', async (t) => {
  const { departure, state } = await nodeA(t, ['a', 'b'])
  state.stuck = 'No other node is ready'
  t.match((await refuses(t, 'IN_USE', departure.refuse(false))).message, /No other node is ready; send force=true/)
  await departure.refuse(true)
  state.left = ['192.0.2.9']
  t.match((await refuses(t, 'IN_USE', departure.begin('update', false))).message, /has taken over 192\.0\.2\.9/)
  await departure.begin('update', true)
})

t.test('a node of no cluster leaves no other', async (t) => {
  const { departure, state } = await nodeA(t, ['a'])
  state.isMember = false
  state.stuck = 'nobody is asked'
  await departure.refuse(false)
})
