import t from 'tap'
import { ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, endAtOnce, historyOf, ripsOf } from '../fixtures/cluster-sight.ts'

/** Two nodes that lose their power at the same moment, and of which one comes back. */

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
  return undefined
})
