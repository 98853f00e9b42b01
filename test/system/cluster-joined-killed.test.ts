import t from 'tap'
import { beginningsOf, begunAnew, type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, hasQuorum, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { isIn, killedAt, STEPS } from './killed-beginnings.ts'

/** A node that is killed while it joins a cluster. */

t.test('killed in the middle', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [first, second] = [await daemons.start(), await daemons.start()]
  await addRip(first, 'ours')
  await addRip(second, 'theirs')
  await form(first, 'left')
  for (const step of Object.keys(STEPS)) {
    await t.test(`of joining, when ${step}: a single node, or a member of the cluster`, async (t) => {
      const { daemon, address } = second
      const { token } = await first.daemon.data('POST', '/cluster/tokens', {})
      const asked = daemon.call('POST', '/cluster/join', { body: { token, address, nodeName: 'right' } })
      await killedAt(second, step, asked)
      const isMember = await isIn(t, second)
      t.comment(isMember ? 'a member of the cluster' : 'a single node')
      if (isMember) await allVote(first, 2)
      t.same(await ripsOf(second), isMember ? ['ours'] : ['theirs'], 'the records of the cluster, or its old ones')
      await hasQuorum(first)
      await removed(first, second)
    })
  }
  const joined = await join(second, 'right', first)
  t.equal(joined.status, 200, joined.text)
  await allVote(first, 2)
  return undefined
})

/** Removes a member that the cluster has admitted, whether or not it ever came up. */
async function removed(member: ClusterDaemon, node: ClusterDaemon): Promise<void> {
  const [{ nodes }, before] = [await seenBy(member), beginningsOf(node)]
  const isListed = nodes.some(({ id }: { readonly id: string }) => id === node.daemon.node)
  const isThere = (await seenBy(node)) !== null
  if (isListed) await member.daemon.data('DELETE', `/cluster/nodes/${node.daemon.node}`)
  if (isThere) await begunAnew(node, before)
}
