import { readFileSync } from 'node:fs'
import { connect } from 'node:tls'
import t from 'tap'
import { BASE, LOG_SPAN, NUMBER_DIGITS } from '../../src/cluster/places.ts'
import { keyIdOf } from '../../src/cluster/sealing.ts'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { begunAnew, type ClusterDaemon, ClusterDaemons, etcdOf, join } from '../fixtures/cluster-daemons.ts'
import { addRip, asked, allVote, die, etcdAt, ripsOf, seenBy, threeNodes } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/daemon.ts'

/** Real daemons, each with a real etcd beside it. */

t.setTimeout(600_000)

const remove = ({ daemon }: ClusterDaemon, { daemon: { node } }: ClusterDaemon, query = '') =>
  daemon.call('DELETE', `/cluster/nodes/${node}${query}`)
const ids = (...nodes: readonly ClusterDaemon[]) => nodes.map(({ daemon }) => daemon.node)
const filesOf = ({ daemon }: ClusterDaemon) => new ClusterFiles(daemon.state)

t.test('nodes that are removed', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const { first, second, third } = await threeNodes(daemons)
  await addRip(first, 'ours')

  await t.test('are those of the cluster', async (t) => {
    const unknown = await first.daemon.call('DELETE', '/cluster/nodes/nobody')
    t.match([unknown.status, unknown.json.code], [404, 'NOT_FOUND'])
    t.same((await seenBy(first)).nodes.length, 3)
  })

  await t.test('one that is dead is removed, and nothing that it has opens anything', async (t) => {
    const issued = String((await third.daemon.data('POST', '/cluster/tokens', {})).token)
    const token = await third.daemon.login()
    const asks = async () => (await first.daemon.call('GET', '/localUsers/me', { token })).status
    t.equal(await until('session', asks, (status) => status === 200), 200)
    const stolen = filesOf(third)
    const before = stolen.read()
    const { key, certificate: cert, ca } = stolen.certificates().client
    const [host, port] = first.address.split(':')
    const open = connect({ host, port: Number(port) + 1, key, cert, ca, checkServerIdentity: () => undefined })
    await new Promise((resolve) => open.once('secureConnect', resolve))
    const closed = new Promise((resolve) => open.once('close', resolve))
    open.on('error', () => undefined).resume()
    await die(third)
    const told = await remove(first, third)
    t.equal(told.status, 200, told.text)
    for (const node of [first, second]) {
      const seen = await until(
        'its end',
        () => seenBy(node),
        ({ nodes }) => nodes.length === 2,
      )
      t.same(
        seen.nodes.map(({ id }: { id: string }) => id),
        ids(first, second),
      )
    }
    t.equal(await asks(), 401, 'a session of that node')
    await addRip(second, 'behind')
    const etcd = etcdAt(t, second, filesOf(second))
    t.same((await asked(() => etcd.members.list())).map(({ name }) => name).toSorted(), ids(first, second).toSorted())
    const [base] = (await asked(() => etcd.range({ key: BASE }))).kvs
    const old = before?.keys.map(({ keyId }) => keyId) ?? []
    t.notOk(old.includes(keyIdOf(base?.value.subarray(NUMBER_DIGITS) ?? Buffer.alloc(0))), 'the checkpoint')
    const last = (await asked(() => etcd.range(LOG_SPAN))).kvs.at(-1)
    t.notOk(old.includes(keyIdOf(last?.value ?? Buffer.alloc(0))), 'and what is written since')
    await closed
    for (const node of [first, second]) {
      const said = async () => {
        await t.rejects(etcdAt(t, node, stolen).members.list())
        return readFileSync(`${node.daemon.state}/cluster/etcd.log`, 'utf8')
      }
      await until('refusals', said, (text) =>
        /rejected connection on client.*certificate serial \w+ revoked/.test(text),
      )
    }
    const fourth = await daemons.start()
    const refused = await join(fourth, 'fourth', issued)
    t.match([refused.status, refused.json.errors[0].code], [422, 'TOKEN_UNKNOWN'])
    await fourth.daemon.kill('SIGTERM')
    t.equal((await remove(first, third)).status, 404, 'it is done')
  })

  await t.test('it comes back, and says that it is none of the cluster', async (t) => {
    await third.daemon.start()
    const seen = await until(
      'its removal',
      () => seenBy(third),
      ({ removedAt }) => removedAt !== null,
    )
    t.match(
      seen.halted ??
        (
          await until(
            'its end',
            () => seenBy(third),
            ({ halted }) => halted !== null,
          )
        ).halted,
      /removed/,
    )
    t.match(third.daemon.stderr, /this node was removed from the cluster/)
    const refused = await third.daemon.call('POST', '/ipvsDirector/rips', {
      body: { name: 'lost', ip: '192.0.2.1', port: 80 },
    })
    t.match([refused.status, refused.json.code], [503, 'NO_QUORUM'])
    t.equal((await remove(third, first)).status, 503, 'it removes nobody')
    t.same(await ripsOf(second), ['behind', 'ours'])
  })

  await t.test('it becomes a single node with what it had, and joins anew', async (t) => {
    const told = await remove(third, third)
    t.equal(told.status, 200, told.text)
    await begunAnew(third)
    t.equal(await seenBy(third), null)
    t.same(await ripsOf(third), ['ours'])
    await addRip(third, 'own')
    t.same([filesOf(third).exist, etcdOf(third.daemon.state)], [false, []])
    t.equal((await join(third, 'third', second)).status, 200)
    await allVote(first, 3)
    t.same(
      await until(
        'entries',
        () => ripsOf(third),
        (found) => found.length === 2,
      ),
      ['behind', 'ours'],
    )
    await addRip(third, 'again')
  })

  await t.test('one that is there becomes a single node by itself', async (t) => {
    const route = { name: 'nowhere', type: 'blackhole', destination: '2001:db8:9::/48', metric: 0 }
    await second.daemon.data('POST', `/${second.daemon.node}/routes`, route)
    const told = await remove(first, second)
    t.equal(told.status, 200, told.text)
    await begunAnew(second, 2)
    t.equal(
      await until(
        'its end',
        () => seenBy(second),
        (state) => state === null,
      ),
      null,
    )
    t.same(await ripsOf(second), ['again', 'behind', 'ours'])
    await addRip(second, 'alone')
    await addRip(third, 'without it')
    t.same(
      (await seenBy(first)).nodes.map(({ id }: { id: string }) => id),
      ids(first, third),
    )
  })

  await t.test('another node takes the place of one that was removed', async (t) => {
    const node = await daemons.start()
    const { daemon } = node
    const [old, own] = [second.daemon.node, daemon.node]
    const token = String((await first.daemon.data('POST', '/cluster/tokens', {})).token)
    const body = { token, address: node.address, as: old }
    const wrong = await daemon.call('POST', '/cluster/join', { body: { ...body, as: own } })
    t.match([wrong.status, wrong.json.errors?.[0].field, wrong.json.errors?.[0].code], [422, 'as', 'NOT_REMOVED'])
    const seen = await daemon.data('POST', '/cluster/join', { ...body, dryRun: true })
    t.match(seen.removed, [{ id: old, name: 'right' }])
    await daemon.data('POST', '/cluster/join', body)
    await begunAnew(node)
    await daemon.login()
    t.match(daemon.node, old)
    const { nodes } = await seenBy(node)
    t.match(nodes[2], { id: old, name: 'right', isSelf: true })
    t.match(await daemon.data('GET', `/${old}/routes`), [{ name: 'nowhere' }], 'with what was its own')
    await allVote(first, 3)
    t.equal((await remove(first, node)).status, 200)
    await begunAnew(node, 2)
    t.equal(daemon.node, old, 'it keeps the id')
  })

  await t.test('what would leave too few is refused', async (t) => {
    await die(third)
    const refused = await remove(first, third)
    t.match([refused.status, refused.json.code], [503, 'NO_QUORUM'])
    await third.daemon.start()
    await until(
      'quorum',
      () => seenBy(first),
      ({ quorum }) => quorum === true,
    )
  })

  await t.test('a node leaves by itself, and the last one only when it is forced', async (t) => {
    await until(
      'quorum',
      () => seenBy(third),
      ({ quorum }) => quorum === true,
    )
    const told = await remove(third, third)
    t.equal(told.status, 200, told.text)
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
