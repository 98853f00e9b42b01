import t from 'tap'
import { ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, die, endAtOnce, historyOf, removes, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** Two nodes that lose their power at the same moment, one of which comes back. */

t.test('a node that comes back alone has everything that was answered', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [left, right] = [await daemons.start(), await daemons.start()]
  await form(left, 'left')
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  await left.daemon.data('PUT', '/cluster', { preferredNode: left.daemon.node, takeoverAfter: 5 })
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const [at, name] of names.entries()) await addRip(at % 2 === 0 ? left : right, name)
  await endAtOnce(left, right)
  await left.daemon.start()
  await left.daemon.login()
  await historyOf(left, 2)
  t.same(await ripsOf(left), names)
  await addRip(left, 'alone')

  await t.test('a node that continued alone as well, and was removed there, is told so', async (t) => {
    await die(left)
    await right.daemon.start()
    await right.daemon.login()
    const body = { partnerIsOff: 'left', reason: 'its disk is broken' }
    const taken = await right.daemon.call('PUT', '/cluster/takeover', { body })
    t.equal(taken.status, 200, taken.text)
    await addRip(right, 'there')
    await die(right)
    await left.daemon.start()
    await left.daemon.login()
    await historyOf(left, 2)
    t.equal(await removes(left, right), true)
    await right.daemon.start()
    await right.daemon.login()
    const { halted } = await until(
      'word of its removal',
      () => seenBy(right),
      ({ removedAt, halted: why }) => removedAt !== null && why !== null,
    )
    t.match(halted, /^it was removed from the cluster site at .* makes it a single node/)
    t.ok((await ripsOf(right)).includes('there'), 'its records can be read')
  })
  return undefined
})
