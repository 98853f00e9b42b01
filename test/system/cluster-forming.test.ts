import t from 'tap'
import { begunAnew, ClusterDaemons } from '../fixtures/cluster-daemons.ts'
import { etcdOf } from '../fixtures/etcd-programs.ts'
import { until } from '../fixtures/daemon.ts'

/** A real daemon with a real etcd beside it. */

t.setTimeout(300_000)

t.test('a cluster of one node', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const node = await daemons.start()
  const { daemon, address } = node
  const cluster = () => daemon.data('GET', '/cluster')
  const rips = async () => (await daemon.data('GET', '/ipvsDirector/rips')) as readonly { name: string }[]
  const add = (name: string) => daemon.data('POST', '/ipvsDirector/rips', { name, ip: '192.0.2.1', port: 80 })
  const names = async () => (await rips()).map(({ name }) => name)

  await t.test('is none before it is formed', async (t) => {
    await add('before')
    t.equal(await cluster(), null)
  })

  await t.test('is formed of the node as it is', async (t) => {
    const wrong = await daemon.call('POST', '/cluster', { body: { name: 'site', address: 'no address:x' } })
    t.match([wrong.status, wrong.json.code, wrong.json.errors[0].field], [422, 'INVALID_BODY', 'address'])
    await daemon.data('POST', '/cluster', { name: 'site', address, nodeName: 'left' })
    await begunAnew(node)
    t.match(await cluster(), { name: 'site', epoch: 1, quorum: true, halted: null })
    const [only] = (await cluster()).nodes
    t.match(only, {
      id: daemon.node,
      name: 'left',
      address,
      isSelf: true,
      state: 'online',
      isVoter: true,
      isLeader: true,
    })
    t.same(await names(), ['before'], 'with what was pending')
    const again = await daemon.call('POST', '/cluster', { body: { name: 'other', address } })
    t.match([again.status, again.json.code], [409, 'IN_USE'])
  })

  await t.test('edits and applies as before', async (t) => {
    const { sequence } = await cluster()
    await add('behind')
    t.equal((await cluster()).sequence, sequence + 1, 'by the log')
    await daemon.data('PUT', '/services/apply')
    t.same((await daemon.data('GET', '/services/pending')).count, 0)
  })

  await t.test('is there again when the daemon was killed, with whoever was logged in', async (t) => {
    const before = await cluster()
    await add('at the end')
    await daemon.kill('SIGKILL')
    await daemon.start()
    await until('etcd', cluster, ({ quorum }) => quorum === true)
    t.same((await names()).toSorted(), ['at the end', 'before', 'behind'])
    t.equal((await cluster()).id, before.id)
  })

  await t.test('goes on when etcd was killed', async (t) => {
    const [pid = 0] = etcdOf(daemon.state)
    process.kill(pid, 'SIGKILL')
    t.same((await names()).length, 3, 'what is there can be read')
    await until('etcd', cluster, ({ quorum }) => quorum === true)
    t.not(etcdOf(daemon.state)[0], pid)
    await add('with another etcd')
    t.same((await names()).length, 4)
  })

  await t.test('ends with the daemon', async (t) => {
    t.equal(await daemon.kill('SIGTERM'), 0)
    t.same(etcdOf(daemon.state), [])
  })
  return undefined
})
