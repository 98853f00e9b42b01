import t, { type Test } from 'tap'
import { ApiError } from '../../../src/base/errors.ts'
import { silentLog } from '../../../src/base/log.ts'
import { Maintenance, type MaintenanceParts } from '../../../src/membership/maintenance.ts'
import { Members } from '../../../src/membership/members.ts'
import { openStore } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const NOW = '2026-01-02T03:04:05.000Z'

/** The node a of three, whose member leads. */
async function three(test: Test) {
  const members = new Members(openStore(test).members)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest is not looked at
  for (const id of ['a', 'b', 'c']) await members.add(() => ({ id, name: id, since: id }) as never)
  const led: string[] = []
  const state = { leader: '1', isAtWork: false, isMember: true, hasQuorum: true, away: '', looksLeft: 0 }
  const clock = { ...manualClock(), bootId: 'boot-1' }
  const listed = [
    { name: 'a', id: '1', isLearner: false },
    { name: 'b', id: '2', isLearner: false },
    { name: 'c', id: '3', isLearner: false },
    { name: 'witness', id: '4', isLearner: false },
  ]
  const cluster = {
    own: { nodeId: 'a' },
    get hasQuorum() {
      return state.hasQuorum
    },
    succession: {
      aside: {
        get isDone() {
          return state.looksLeft-- <= 0
        },
      },
    },
    ownStatus: async () => ({ memberId: '1', leader: state.leader }),
    peers: { livenessOf: (id: string) => ({ isReachable: id !== state.away }) },
    etcd: {
      members: { list: async () => listed },
      maintenance: { moveLeader: async (id: string) => (led.push(id), (state.leader = id)) },
    },
  } as unknown as ReturnType<MaintenanceParts['cluster']>
  const made = () =>
    new Maintenance({
      cluster: () => (state.isMember ? cluster : undefined),
      members,
      isAtWork: () => state.isAtWork,
      clock,
      wait: async () => undefined,
      log: silentLog,
    })
  return { maintenance: made(), made, members, led, state, clock }
}

t.test('a node in maintenance gives leadership away, until the maintenance is ended', async (t) => {
  const { maintenance, members, led } = await three(t)
  await maintenance.look()
  t.same(led, [])
  await maintenance.set('a', { enabled: true, reason: 'a fan' }, 'ann')
  t.same(members.get('a')?.maintenance, { since: NOW, by: 'ann', reason: 'a fan' })
  await maintenance.look()
  t.same(led, ['2'])
  await maintenance.look()
  t.same(led, ['2'], 'another one leads')
  await maintenance.set('a', { enabled: false }, 'ann')
  t.same(members.get('a'), { id: 'a', name: 'a', since: 'a' })
})

t.test('leadership goes to a reachable node that is not in maintenance', async (t) => {
  const { maintenance, led, state } = await three(t)
  await maintenance.set('a', { enabled: true }, 'ann')
  await maintenance.set('b', { enabled: true }, 'ann')
  await maintenance.look()
  t.same(led, ['3'])
  state.leader = '1'
  state.away = 'c'
  await maintenance.look()
  t.same(led, ['3'], 'the other one would give it back')
  await maintenance.begin('a reboot', true)
  t.same(led, ['3', '2'], 'when this one goes away, a node in maintenance is better than none, or than a witness')
})

t.test('work of the daemon begins and ends it automatically', async (t) => {
  const { maintenance, members, led, state } = await three(t)
  state.isAtWork = true
  await maintenance.look()
  t.match(members.get('a')?.maintenance, { by: 'fulcrum', reason: 'work on the machine' })
  t.same(led, ['2'])
  await maintenance.look()
  t.ok(members.get('a')?.maintenance, 'it continues')
  state.isAtWork = false
  await maintenance.look()
  t.equal(members.get('a')?.maintenance, undefined)
})

t.test('that of a reboot is over when the machine is up again, that of a person is not', async (t) => {
  const { maintenance, made, members, state, clock } = await three(t)
  state.isAtWork = true
  await maintenance.begin('reboot', false)
  t.match(members.get('a')?.maintenance, { by: 'fulcrum', reason: 'reboot' })
  clock.bootId = 'boot-2'
  state.isAtWork = false
  await made().look()
  t.equal(members.get('a')?.maintenance, undefined)
  await maintenance.set('a', { enabled: true }, 'ann')
  await maintenance.begin('reboot', false)
  clock.bootId = 'boot-3'
  await made().look()
  t.match(members.get('a')?.maintenance, { by: 'ann' })
})

t.test('maintenance begun by the daemon waits until another node leads, or, of two, votes alone', async (t) => {
  const { maintenance, led, state } = await three(t)
  state.looksLeft = 3
  await maintenance.begin('update', false)
  t.same([led, state.looksLeft], [['2'], -1])
})

t.test('one node at a time, unless forced', async (t) => {
  const { maintenance, members } = await three(t)
  await maintenance.set('b', { enabled: true }, 'ann')
  await t.rejects(maintenance.begin('update', false), { code: 'IN_USE', message: /b is in maintenance/ })
  t.equal(members.get('a')?.maintenance, undefined)
  await maintenance.begin('update', true)
  t.match(members.get('a')?.maintenance, { reason: 'update' })
})

t.test('without a quorum nothing is announced, and nothing waits', async (t) => {
  const { maintenance, members, state } = await three(t)
  state.hasQuorum = false
  state.looksLeft = 1
  await maintenance.begin('reboot', false)
  t.equal(members.get('a')?.maintenance, undefined)
  t.equal(state.looksLeft, 1)
})

t.test('nodes of no cluster are refused', async (t) => {
  const { maintenance, state } = await three(t)
  await t.rejects(maintenance.set('d', { enabled: true }, 'ann'), { code: 'NOT_FOUND' })
  await t.rejects(maintenance.set('d', { enabled: false }, 'ann'), ApiError)
  state.isMember = false
  await t.rejects(maintenance.set('a', { enabled: true }, 'ann'), /not in a cluster/)
  await maintenance.begin('reboot', false)
  await maintenance.look()
})
