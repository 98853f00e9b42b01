import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { beginningsOf, begunAnew, type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { etcdOf } from '../fixtures/etcd-programs.ts'
import { addRip, allVote, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { noSmallDisk, smallDisk } from '../fixtures/small-disk.ts'

/** Nodes that are killed while they form or join a cluster, and one whose disk has no room for it. */

t.setTimeout(600_000)

const filesOf = ({ daemon }: ClusterDaemon) => new ClusterFiles(daemon.state)
/** What is there already, in this order. */
const STEPS: Readonly<Record<string, (node: ClusterDaemon) => boolean>> = {
  'its folder is there': (node) => filesOf(node).exist,
  'its etcd runs': ({ daemon }) => etcdOf(daemon.state).length > 0,
  'its file says that it is in a cluster': (node) => filesOf(node).read() !== undefined,
}

/** Kills the daemon at this step of what was asked for, and starts it again. */
async function killedAt(node: ClusterDaemon, step: string, call: Promise<unknown>): Promise<void> {
  const isThere = STEPS[step]!
  const ended = call.then(
    () => true,
    () => true,
  )
  while (!isThere(node) && !(await Promise.race([ended, sleep(1, false)])));
  await node.daemon.kill('SIGKILL')
  await ended
  await node.daemon.start()
  // Sessions are those of the cluster, if it is in one.
  await node.daemon.login()
}

/** Whether it is in a cluster; where it is not, nothing of one is left. */
async function isIn(t: Test, node: ClusterDaemon): Promise<boolean> {
  const state = await seenBy(node)
  if (state === null) t.same([filesOf(node).exist, etcdOf(node.daemon.state)], [false, []], 'nothing is left of it')
  return state !== null
}

t.test('killed in the middle', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [first, second] = [await daemons.start(), await daemons.start()]
  await addRip(first, 'ours')
  await addRip(second, 'theirs')

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

  await form(first, 'left')
  for (const step of Object.keys(STEPS)) {
    await t.test(`of joining, when ${step}: a single node, or one of the cluster`, async (t) => {
      const { daemon, address } = second
      const { token } = await first.daemon.data('POST', '/cluster/tokens', {})
      const asked = daemon.call('POST', '/cluster/join', { body: { token, address, nodeName: 'right' } })
      await killedAt(second, step, asked)
      const isMember = await isIn(t, second)
      t.comment(isMember ? 'one of the cluster' : 'a single node')
      if (isMember) await allVote(first, 2)
      t.same(await ripsOf(second), isMember ? ['ours'] : ['theirs'], 'what the cluster has, or what it had')
      t.equal((await seenBy(first)).quorum, true)
      await removed(first, second)
    })
  }
  const joined = await join(second, 'right', first)
  t.equal(joined.status, 200, joined.text)
  await allVote(first, 2)
  return undefined
})

t.test('a disk that has no room for an etcd', { skip: noSmallDisk }, async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const state = smallDisk(t, 48)
  const [full, other] = [await daemons.start([], { state }), await daemons.start()]
  await addRip(full, 'mine')
  await form(other, 'left')
  const { token } = await other.daemon.data('POST', '/cluster/tokens', {})
  const { daemon, address } = full
  for (const [path, more] of [
    ['/cluster', { name: 'site' }],
    ['/cluster/join', { token }],
  ] as const) {
    const { status, json, text } = await daemon.call('POST', path, { body: { address, ...more } })
    t.comment(text)
    t.match([status, json.code, json.message], [501, 'NOT_SUPPORTED', /no space left/])
    t.equal(await isIn(t, full), false)
    await addRip(full, path)
  }
  t.same(await ripsOf(full), ['/cluster', '/cluster/join', 'mine'])
  return undefined
})

/** One that the cluster has let in and that never came up, or did. */
async function removed(member: ClusterDaemon, node: ClusterDaemon): Promise<void> {
  const [{ nodes }, before] = [await seenBy(member), beginningsOf(node)]
  const isListed = nodes.some(({ id }: { readonly id: string }) => id === node.daemon.node)
  const isThere = (await seenBy(node)) !== null
  if (isListed) await member.daemon.data('DELETE', `/cluster/nodes/${node.daemon.node}`)
  if (isThere) await begunAnew(node, before)
}
