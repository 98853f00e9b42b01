import t from 'tap'
import { begunAnew, type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { etcdOf } from '../fixtures/etcd-programs.ts'
import { until } from '../fixtures/until.ts'

/** Real daemons with a real etcd each. */

t.test('a cluster of one node', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const node = await daemons.start()
  const { daemon, address } = node
  const cluster = () => daemon.data('GET', '/cluster')
  const rips = async () => (await daemon.data('GET', '/ipvsDirector/rips')) as readonly { id: string; name: string }[]
  const add = (name: string) => daemon.data('POST', '/ipvsDirector/rips', { name, ip: '192.0.2.1', port: 80 })
  const names = async () => (await rips()).map(({ name }) => name)

  await t.test('does not exist before it is formed', async (t) => {
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
    t.same(await names(), ['before'], 'with its pending changes')
    const again = await daemon.call('POST', '/cluster', { body: { name: 'other', address } })
    t.match([again.status, again.json.code], [409, 'IN_USE'])
  })

  await t.test('edits and applies as before', async (t) => {
    const { sequence } = await cluster()
    await add('behind')
    t.ok((await cluster()).sequence > sequence, 'through the log')
    await daemon.data('PUT', '/services/apply')
    t.same((await daemon.data('GET', '/services/pending')).count, 0)
  })

  await t.test('lets no frontend take a port of the cluster', async (t) => {
    const [ip = '', port = ''] = address.split(':')
    const be = { name: 'be', reals: [{ ripId: (await rips())[0]?.id }] }
    const l4 = await daemon.data('POST', '/ipvsDirector/backends', be)
    const l7 = await daemon.data('POST', '/layer7proxy/backends', { ...be, mode: 'tcp' })
    const applied = async (path: string, more: object, above: number) => {
      const ports = String(Number(port) + above)
      const { id } = await daemon.data('POST', path, { name: 'taken', ip, ports, ...more })
      const { json } = await daemon.call('PUT', '/services/apply')
      await daemon.data('DELETE', `${path}/${id}`)
      return [json.code, json.errors?.[0].field]
    }
    for (const above of [0, 1, 2, 3]) {
      const balanced = { backendId: l4.id, protocol: 'tcp', forwarding: 'masq' }
      t.match(await applied('/ipvsDirector/frontends', balanced, above), ['CONFIG_INVALID', /^l4Frontends\..*ports$/])
      const proxied = { mode: 'tcp', defaultBackendId: l7.id }
      t.match(await applied('/layer7proxy/frontends', proxied, above), ['CONFIG_INVALID', /^l7Frontends\..*ports$/])
    }
  })

  await t.test('is back after the daemon was killed, with its sessions', async (t) => {
    const before = await cluster()
    await add('at the end')
    await daemon.kill('SIGKILL')
    await daemon.start()
    await until('etcd', cluster, ({ quorum }) => quorum === true)
    t.same((await names()).toSorted(), ['at the end', 'before', 'behind'])
    t.equal((await cluster()).id, before.id)
  })

  await t.test('continues after etcd was killed', async (t) => {
    const [pid = 0] = etcdOf(daemon.state)
    process.kill(pid, 'SIGKILL')
    t.same((await names()).length, 3, 'existing records can be read')
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

t.test('without a quorum existing records can be read, and nothing is changed', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [node, other] = [await daemons.start(), await daemons.start()]
  const { daemon } = node
  await addRip(node, 'before')
  await form(node, 'left')
  const { token } = await daemon.data('POST', '/cluster/tokens', {})
  await join(other, 'right', String(token))
  await allVote(node, 2)
  await daemon.data('PUT', '/services/apply')
  const session = await daemon.login()
  await daemon.login()
  const { token: program } = await daemon.data('POST', '/localUsers/me/tokens', { name: 'poller' })
  const ended = [session, String(program)]
  const statusesOf = async ({ daemon: one }: ClusterDaemon) => {
    const answers = await Promise.all(ended.map((held) => one.call('GET', '/cluster', { token: held })))
    return answers.map(({ status }) => status)
  }
  const isRefused = async () => {
    const body = { name: 'lost', ip: '192.0.2.1', port: 80 }
    const { status, json } = await daemon.call('POST', '/ipvsDirector/rips', { body })
    t.match([status, json.code], [503, 'NO_QUORUM'])
  }

  await t.test('one of two nodes is off', async (t) => {
    await other.daemon.kill('SIGTERM')
    await isRefused()
    t.same(await statusesOf(node), [200, 200])
    for (const held of ended) {
      const { status, json } = await daemon.call('DELETE', '/token', { token: held })
      t.match([status, json.code, json.message], [503, 'NO_QUORUM', /has ended on this node/])
    }
    t.same(await statusesOf(node), [401, 401])
    const isSaid = ({ headers }: Awaited<ReturnType<typeof daemon.call>>) => headers['x-cluster'] === 'no-quorum'
    await until('it is said', () => daemon.call('GET', '/cluster'), isSaid)
    t.same(await ripsOf(node), ['before'])
  })

  await t.test('both were off, and one starts alone', async (t) => {
    const [revision] = await daemon.data('GET', '/revisions')
    await daemon.kill('SIGKILL')
    await daemon.start()
    await daemon.login()
    t.same(await statusesOf(node), [401, 401], 'sessions logged out without a quorum stay ended')
    t.same([(await daemon.data('GET', '/revisions'))[0], await ripsOf(node)], [revision, ['before']])
    await isRefused()
  })

  await t.test('both are back', async (t) => {
    await other.daemon.start()
    await until(
      'quorum',
      () => seenBy(node),
      ({ quorum }) => quorum === true,
    )
    // A refused edit may have been written after all, as the refusal says; here an earlier attempt may have written it.
    const body = { name: 'kept', ip: '192.0.2.1', port: 80 }
    const edit = () => daemon.call('POST', '/ipvsDirector/rips', { body })
    await until('edit', edit, ({ status }) => status === 201 || status === 409)
    await other.daemon.login()
    const kept = await ripsOf(node)
    t.ok(kept.includes('kept'))
    const isAll = (found: readonly string[]) => found.length === kept.length
    t.same(await until('edit', () => ripsOf(other), isAll), kept)
    await until(
      'told',
      () => statusesOf(other),
      (found) => found.join() === '401,401',
    )
  })
  return undefined
})
