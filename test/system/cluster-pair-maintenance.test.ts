import t, { type Test } from 'tap'
import { type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, die, hasQuorum, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** One of two nodes without a third vote is in maintenance: the other continues alone, at once, in one history. */

const maintain = (asked: ClusterDaemon, { daemon: { node } }: ClusterDaemon, enabled: boolean) =>
  asked.daemon.data('PUT', `/cluster/nodes/${node}/maintenance`, { enabled })

/** Resolves when exactly these nodes vote, as one of them sees it. */
const voters = (seer: ClusterDaemon, ...nodes: readonly ClusterDaemon[]) =>
  until(
    'voters',
    () => seenBy(seer),
    (state) =>
      state.quorum === true &&
      state.nodes.every(
        ({ id, isVoter }: { id: string; isVoter: boolean }) =>
          isVoter === nodes.some(({ daemon }) => daemon.node === id),
      ),
  )

const has = (node: ClusterDaemon, names: readonly string[]) =>
  until(
    'what the other has',
    () => ripsOf(node),
    (found) => found.join() === names.join(),
  )

/** The voting node is off: the other one changes nothing, and cannot take over. */
async function withoutVoter(t: Test, left: ClusterDaemon, right: ClusterDaemon): Promise<void> {
  await maintain(left, right, true)
  await voters(left, left)
  await die(left)
  const body = { partnerIsOff: 'left', reason: 'it is off', force: true }
  await until(
    'refusal',
    () => right.daemon.call('PUT', '/cluster/takeover', { body }),
    ({ status, text }) => status === 409 && text.includes('bring one of the others back'),
  )
  const rip = { name: 'lost', ip: '192.0.2.1', port: 80 }
  t.equal((await right.daemon.call('POST', '/ipvsDirector/rips', { body: rip })).status, 503)
  await left.daemon.start()
  await left.daemon.login()
  await voters(left, left)
}

/** Killed while it enters or leaves maintenance, it continues from there. */
async function killedMidway(t: Test, left: ClusterDaemon, right: ClusterDaemon): Promise<void> {
  for (const enabled of [false, true, false]) {
    await maintain(left, right, enabled)
    await right.daemon.kill('SIGKILL')
    await right.daemon.start()
    await right.daemon.login()
    await voters(left, ...(enabled ? [left] : [left, right]))
    await addRip(right, `after ${enabled} ${right.daemon.stdout.length}`)
  }
  await has(right, await ripsOf(left))
  t.match(await seenBy(right), { epoch: 1, halted: null, histories: null })
}

/** etcd does not know the node in maintenance, and a joining node has to start with the known members. */
async function joinedMeanwhile(t: Test, left: ClusterDaemon, right: ClusterDaemon, third: ClusterDaemon) {
  await maintain(left, right, true)
  await voters(left, left)
  const { status, text } = await join(third, 'third', left)
  t.equal(status, 200, text)
  await voters(left, left, third)
  await maintain(third, right, false)
  for (const node of [left, right, third]) await allVote(node, 3)
  await addRip(right, 'of three')
  await has(third, await ripsOf(right))
}

t.test('maintenance of one of two nodes', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [left, right] = [await daemons.start(), await daemons.start()]
  await form(left, 'left')
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  // The node that would take over automatically, if that happened.
  await left.daemon.data('PUT', '/cluster', { preferredNode: left.daemon.node, takeoverAfter: 5 })

  await t.test('both continue to edit while it is in maintenance', async (t) => {
    await maintain(right, left, true)
    await voters(right, right)
    await voters(left, right)
    await addRip(left, 'a')
    await addRip(right, 'b')
    await has(left, ['a', 'b'])
    t.match(await hasQuorum(left), { epoch: 1 })
  })

  await t.test('the other node continues while it is off, and no node takes over', async (t) => {
    await die(left)
    await addRip(right, 'c')
    t.match(await hasQuorum(right), { epoch: 1 })
  })

  await t.test('it does not vote before its maintenance is ended', async () => {
    await left.daemon.start()
    await left.daemon.login()
    await has(left, ['a', 'b', 'c'])
    await voters(left, right)
    await maintain(left, left, false)
    await voters(left, left, right)
    await voters(right, left, right)
  })

  await t.test('while the voting node is off', (t) => withoutVoter(t, left, right))
  await t.test('while it is killed', (t) => killedMidway(t, left, right))
  await t.test('while a third node joins', async (t) => joinedMeanwhile(t, left, right, await daemons.start()))
  return undefined
})
