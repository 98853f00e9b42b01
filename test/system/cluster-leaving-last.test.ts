import t from 'tap'
import { LOG_SPAN } from '../../src/cluster/places.ts'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { beginningsOf, begunAnew, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, die, etcdAt, remove, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** Real daemons with a real etcd each. */

t.test('one of two nodes leaves, and then the other', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [first, second] = [await daemons.start(), await daemons.start()]
  await form(first, 'left')
  const { status, text } = await join(second, 'second', first)
  if (status !== 200) throw new Error(text)
  for (const node of [first, second]) await allVote(node, 2)
  await addRip(first, 'ours')

  await t.test('a removal that would leave too few is refused', async (t) => {
    await die(second)
    const refused = await remove(first, second)
    t.match([refused.status, refused.json.code], [503, 'NO_QUORUM'])
    t.match(refused.json.message, /second is off for good, PUT \/cluster\/takeover continues with this node/)
    await second.daemon.start()
    await until(
      'quorum',
      () => seenBy(first),
      ({ quorum }) => quorum === true,
    )
  })

  await t.test('a node removes itself, and the last one only when forced', async (t) => {
    await until(
      'quorum',
      () => seenBy(second),
      ({ quorum }) => quorum === true,
    )
    const files = new ClusterFiles(first.daemon.state)
    const etcd = etcdAt(t, first, files)
    const watch = await etcd.watch(LOG_SPAN)
    const before = beginningsOf(second)
    const told = remove(second, second)
    // From the entry of its removal on it stands still, until others seal with a new key and no etcd answers it.
    for await (const { kind } of watch) {
      if (kind !== 'events') continue
      process.kill(second.daemon.pid, 'SIGSTOP')
      if ((await seenBy(first)).nodes.length === 1) break
      process.kill(second.daemon.pid, 'SIGCONT')
    }
    await until(
      'its lock-out',
      async () => files.trust(),
      ({ isInForce, authorities }) => isInForce && authorities.length === 1 && authorities[0] !== 1,
    )
    process.kill(second.daemon.pid, 'SIGCONT')
    const answer = await told
    t.equal(answer.status, 200, answer.text)
    await begunAnew(second, before)
    t.equal(await seenBy(second), null)
    t.equal((await seenBy(first)).nodes.length, 1)
    await addRip(first, 'alone')
    const refused = await remove(first, first)
    t.match([refused.status, refused.json.code], [409, 'IN_USE'])
    t.equal((await remove(first, first, '?force=true')).status, 200)
    await begunAnew(first, 2)
    t.equal(await seenBy(first), null)
    t.ok((await ripsOf(first)).includes('alone'))
  })
  return undefined
})
