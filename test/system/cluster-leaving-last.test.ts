import t from 'tap'
import { begunAnew, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, die, remove, removes, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/daemon.ts'

/** Real daemons, each with a real etcd beside it. */

t.setTimeout(600_000)

t.test('of two nodes one leaves, and then the other', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [first, second] = [await daemons.start(), await daemons.start()]
  await form(first, 'left')
  const { status, text } = await join(second, 'second', first)
  if (status !== 200) throw new Error(text)
  for (const node of [first, second]) await allVote(node, 2)
  await addRip(first, 'ours')

  await t.test('what would leave too few is refused', async (t) => {
    await die(second)
    const refused = await remove(first, second)
    t.match([refused.status, refused.json.code], [503, 'NO_QUORUM'])
    await second.daemon.start()
    await until(
      'quorum',
      () => seenBy(first),
      ({ quorum }) => quorum === true,
    )
  })

  await t.test('a node leaves by itself, and the last one only when it is forced', async (t) => {
    await until(
      'quorum',
      () => seenBy(second),
      ({ quorum }) => quorum === true,
    )
    t.ok(await removes(second, second))
    await until(
      'its end',
      () => seenBy(first),
      ({ nodes }) => nodes.length === 1,
    )
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
