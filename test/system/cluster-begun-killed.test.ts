import t from 'tap'
import { beginningsOf, begunAnew, ClusterDaemons } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, ripsOf } from '../fixtures/cluster-sight.ts'
import { isIn, killedAt, STEPS } from './killed-beginnings.ts'

/** A node that is killed while it forms a cluster. */

t.test('killed in the middle', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const first = await daemons.start()
  await addRip(first, 'ours')

  for (const step of Object.keys(STEPS)) {
    await t.test(`of forming, when ${step}: a single node, or a cluster`, async (t) => {
      const { daemon, address } = first
      await killedAt(first, step, daemon.call('POST', '/cluster', { body: { name: 'site', address } }))
      t.comment((await isIn(t, first)) ? 'a cluster' : 'a single node')
      if (await isIn(t, first)) {
        await allVote(first, 1)
        const before = beginningsOf(first)
        t.equal((await daemon.call('DELETE', `/cluster/nodes/${daemon.node}?force=true`)).status, 200)
        await begunAnew(first, before)
      }
      t.same(await ripsOf(first), ['ours'])
      await addRip(first, 'more').then(({ id }) => daemon.call('DELETE', `/ipvsDirector/rips/${id}`))
    })
  }
  return undefined
})
