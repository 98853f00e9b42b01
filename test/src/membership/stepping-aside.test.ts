import t, { type Test } from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { Members } from '../../../src/membership/members.ts'
import { SteppingAside, type SteppingAsideParts } from '../../../src/membership/stepping-aside.ts'
import { openStore } from '../../fixtures/config.ts'

/** test/system/cluster-pair-maintenance.test.ts shows the effect on etcd itself. */

const voter = (name: string, more = {}) => ({
  id: `of ${name}`,
  name,
  peerUrls: [`https://192.0.2.1:${name}`],
  clientUrls: [`https://of.${name}`],
  isLearner: false,
  ...more,
})
const BOTH = [voter('a'), voter('b')]
const PARTNER = [voter('b')]

/** The node `a` of these. */
async function nodeA(test: Test, { ids = ['a', 'b'], vote = undefined as 'leaving' | 'out' | undefined } = {}) {
  const members = new Members(openStore(test).members)
  for (const id of ids) await members.add(() => ({ id, name: id, since: id }) as never)
  const state = { leader: 'of b', isReachable: true, fails: '' }
  const done: string[] = []
  const note = (what: string) => async () => {
    done.push(what)
    if (state.fails === what) throw new Error(`${what} fails`)
  }
  const parts = {
    own: { nodeId: 'a', host: '192.0.2.2', port: 9444, vote },
    etcd: {
      members: {
        list: async () => BOTH,
        add: note('add'),
        remove: (id: string, { at }: { at: string }) => note(`remove ${id} at ${at}`)(),
      },
      leases: { grant: (_: number, { at }: { at: string }) => note(`write at ${at}`)() },
      maintenance: { status: async () => ({ memberId: 'of a', leader: state.leader }) },
    },
    members,
    peers: { livenessOf: () => ({ isReachable: state.isReachable }) },
    files: {
      change: (changes: object) => note(`file ${JSON.stringify(changes)}`)(),
      keepArguments: note('arguments'),
      wipeEtcd: note('wipe'),
    },
    service: { start: note('start'), stop: note('stop'), argumentsOf: () => [] },
    messages: silentLog,
  } as unknown as SteppingAsideParts
  const maintain = (id: string, isMaintained = true) =>
    members.change(id, ({ maintenance: _before, ...member }) =>
      isMaintained ? { ...member, maintenance: { since: '', by: 'ann' } } : member,
    )
  return { aside: new SteppingAside(parts), maintain, members, state, done }
}

const REMOVE = 'remove of a at https://of.b'
const LEAVING = 'file {"vote":"leaving"}'
const OUT = ['write at https://of.b', 'file {"vote":"out"}', 'stop']
const BACK = ['stop', 'wipe', 'add', 'arguments', 'file {"epoch":1}', 'start']

t.test('of two, the one in maintenance gives its vote up, and gets another one afterwards', async (t) => {
  const { aside, maintain, done } = await nodeA(t)
  t.equal(await aside.look(BOTH, false), false)
  await maintain('a')
  t.notOk(aside.isDone)
  t.equal(await aside.look(BOTH, false), true)
  t.same(done.splice(0), [LEAVING, REMOVE, ...OUT])
  t.ok(aside.isDone)
  t.equal(await aside.look(PARTNER, true), true, 'for as long as it lasts')
  t.same(done, [])
  await maintain('a', false)
  t.equal(await aside.look(PARTNER, false), true, 'it is not confirmed that its history is the same')
  t.equal(await aside.look(PARTNER, true), false)
  t.same(done.splice(0), BACK)
  t.notOk(aside.mayBeOut)
})

t.test('it stays where no node could continue, or an election would be needed', async (t) => {
  const { aside, maintain, state, done } = await nodeA(t)
  await maintain('a')
  state.leader = 'of a'
  await aside.look(BOTH, false)
  t.notOk(aside.isDone, 'it is about to leave')
  state.leader = 'of b'
  await aside.look([voter('a'), voter('b', { isLearner: true })], false)
  state.isReachable = false
  await aside.look(BOTH, false)
  t.ok(aside.isDone)
  state.isReachable = true
  await maintain('b')
  await aside.look(BOTH, false)
  t.ok(aside.isDone, 'one of both stays')
  t.same(done, [])
  const three = await nodeA(t, { ids: ['a', 'b', 'c'] })
  await three.maintain('a')
  await three.aside.look([...BOTH, voter('c')], false)
  t.same(three.done, [], 'the others are a majority')
})

t.test('it resumes after a crash', async (t) => {
  const begun = await nodeA(t, { vote: 'leaving' })
  t.ok(begun.aside.mayBeOut)
  await begun.maintain('a')
  await begun.aside.look(PARTNER, false)
  t.same(begun.done, [], 'the other one may have taken over')
  await begun.aside.look(PARTNER, true)
  t.same(begun.done, OUT)

  const kept = await nodeA(t, { vote: 'leaving' })
  await kept.aside.look(BOTH, true)
  t.same(kept.done, ['file {}'], 'nothing has happened, and the maintenance is over')
  t.notOk(kept.aside.mayBeOut)

  const out = await nodeA(t, { vote: 'out' })
  out.state.fails = 'add'
  await t.rejects(out.aside.look(PARTNER, true), /add fails/)
  out.state.fails = ''
  out.done.length = 0
  await out.aside.look(PARTNER, true)
  t.same(out.done, BACK)

  const started = await nodeA(t, { vote: 'out' })
  started.state.fails = 'start'
  await t.rejects(started.aside.look(PARTNER, true), /start fails/)
  started.done.length = 0
  await started.aside.look([...PARTNER, voter('a', { isLearner: true })], true)
  t.notOk(started.done.includes('wipe'), 'it has a member, which is restarted and keeps its data')

  const refused = await nodeA(t)
  await refused.maintain('a')
  refused.state.fails = REMOVE
  await t.rejects(refused.aside.look(BOTH, false))
  t.ok(refused.aside.mayBeOut, 'the outcome is unknown')
  refused.state.fails = ''
  t.equal(await refused.aside.look(BOTH, false), true)
})

t.test('a member that lost its vote to others is not part of this', async (t) => {
  const { aside, maintain, done } = await nodeA(t)
  await maintain('a')
  t.equal(await aside.look(PARTNER, true), false)
  t.same(done, [])
})
