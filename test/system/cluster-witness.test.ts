import t from 'tap'
import { type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, die, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/daemon.ts'

/** Two nodes and a witness: each of the three is lost once, and the others go on. */

t.setTimeout(240_000)

const witnessToken = async ({ daemon }: ClusterDaemon) =>
  String((await daemon.data('POST', '/cluster/tokens', { role: 'witness' })).token)

/** Resolves when the witness is so, as this node sees it. */
const sees = (node: ClusterDaemon, isThere: boolean) =>
  until(
    isThere ? 'a witness that votes' : 'a witness that is away',
    () => seenBy(node),
    ({ witness }) => witness !== null && witness.isVoter && (witness.state === 'online') === isThere,
  )

t.test('two nodes and a witness', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [left, right] = [await daemons.start(), await daemons.start()]
  const witness = daemons.witness()
  await form(left, 'left')
  const alone = await left.daemon.call('POST', '/cluster/tokens', { body: { role: 'witness' } })
  t.match(alone, { status: 422, json: { errors: [{ field: 'role' }] } })
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  t.match(await seenBy(left), { witness: null, spareVotes: 0 })
  await left.daemon.data('PUT', '/cluster', { preferredNode: left.daemon.node, takeoverAfter: 5 })

  await t.test('the witness joins with a token in a file', async (t) => {
    witness.start()
    await witness.says(/waits for a token/)
    await witness.hand(await witnessToken(left))
    await witness.says(/votes in the cluster site/)
    t.match(await sees(left, true), { nodes: { length: 2 }, spareVotes: 1 })
    await addRip(left, 'plainly-named')
  })

  await t.test('one node is killed: the other goes on, and nobody takes over', async (t) => {
    await die(right)
    await addRip(left, 'without right')
    t.match(await seenBy(left), { epoch: 1, spareVotes: 0 })
    await right.daemon.start()
    await right.daemon.login()
    await allVote(left, 2)
  })

  await t.test('the witness is killed: the nodes go on, and it comes back', async (t) => {
    await witness.die()
    await sees(left, false)
    await addRip(right, 'without witness')
    t.match(await seenBy(right), { spareVotes: 0, quorum: true })
    const before = witness.stdout.length
    witness.start()
    await witness.says(/votes in the cluster site/, before)
    await sees(left, true)
    await sees(right, true)
  })

  return undefined
})
