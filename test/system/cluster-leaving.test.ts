import { readFileSync } from 'node:fs'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { BASE, LOG_SPAN, NUMBER_DIGITS } from '../../src/cluster/places.ts'
import { keyIdOf } from '../../src/cluster/sealing.ts'
import { EtcdClient } from '../../src/etcd/client.ts'
import { ClusterFiles } from '../../src/membership/cluster-files.ts'
import { clientUrl, parseAddress } from '../../src/membership/node-address.ts'
import { begunAnew, type ClusterDaemon, ClusterDaemons, etcdOf, form, join } from '../fixtures/cluster-daemons.ts'
import { until } from '../fixtures/daemon.ts'

/** Real daemons, each with a real etcd beside it. */

t.setTimeout(600_000)

const cluster = ({ daemon }: ClusterDaemon) => daemon.data('GET', '/cluster')
const add = ({ daemon }: ClusterDaemon, name: string) =>
  daemon.data('POST', '/ipvsDirector/rips', { name, ip: '192.0.2.1', port: 80 })
const names = async ({ daemon }: ClusterDaemon): Promise<readonly string[]> =>
  ((await daemon.data('GET', '/ipvsDirector/rips')) as readonly { name: string }[]).map(({ name }) => name).toSorted()
const remove = ({ daemon }: ClusterDaemon, { daemon: { node } }: ClusterDaemon, query = '') =>
  daemon.call('DELETE', `/cluster/nodes/${node}${query}`)
const ids = (...nodes: readonly ClusterDaemon[]) => nodes.map(({ daemon }) => daemon.node)
const filesOf = ({ daemon }: ClusterDaemon) => new ClusterFiles(daemon.state)

async function allVote(node: ClusterDaemon, count: number): Promise<void> {
  await until(
    'voters',
    () => cluster(node),
    ({ nodes }) => nodes.length === count && nodes.every(({ isVoter }: { isVoter: boolean }) => isVoter),
  )
}

/** Off, with its etcd, as a machine that is unplugged. */
async function die({ daemon }: ClusterDaemon): Promise<void> {
  await daemon.kill('SIGKILL')
  for (const pid of etcdOf(daemon.state)) process.kill(pid, 'SIGKILL')
}

/** The etcd of one node, asked with the certificate of another. */
function etcdAt(t: Test, { address }: ClusterDaemon, files: ClusterFiles): EtcdClient {
  const place = parseAddress(address, 0)
  if (place === undefined) throw new Error(address)
  const etcd = new EtcdClient({ gateways: [clientUrl(place)], credentials: files.certificates().client })
  t.teardown(() => etcd.close())
  return etcd
}

t.test('nodes that are removed', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [first, second, third] = [await daemons.start(), await daemons.start(), await daemons.start()]
  await form(first, 'left')
  for (const [node, name] of [
    [second, 'right'],
    [third, 'third'],
  ] as const)
    t.equal((await join(node, name, first)).status, 200)
  await allVote(first, 3)
  await add(first, 'ours')

  await t.test('are those of the cluster', async (t) => {
    const unknown = await first.daemon.call('DELETE', '/cluster/nodes/nobody')
    t.match([unknown.status, unknown.json.code], [404, 'NOT_FOUND'])
    t.same((await cluster(first)).nodes.length, 3)
  })

  await t.test('one that is dead is removed, and nothing that it has opens anything', async (t) => {
    const issued = String((await third.daemon.data('POST', '/cluster/tokens', {})).token)
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
        () => cluster(node),
        ({ nodes }) => nodes.length === 2,
      )
      t.same(
        seen.nodes.map(({ id }: { id: string }) => id),
        ids(first, second),
      )
    }
    await add(second, 'behind')
    const etcd = etcdAt(t, second, filesOf(second))
    t.same((await etcd.members.list()).map(({ name }) => name).toSorted(), ids(first, second).toSorted())
    const [base] = (await etcd.range({ key: BASE })).kvs
    const old = before?.keys.map(({ keyId }) => keyId) ?? []
    t.notOk(old.includes(keyIdOf(base?.value.subarray(NUMBER_DIGITS) ?? Buffer.alloc(0))), 'the checkpoint')
    const last = (await etcd.range(LOG_SPAN)).kvs.at(-1)
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
      () => cluster(third),
      ({ removedAt }) => removedAt !== null,
    )
    t.match(
      seen.halted ??
        (
          await until(
            'its end',
            () => cluster(third),
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
    t.same(await names(second), ['behind', 'ours'])
  })

  await t.test('it becomes a single node with what it had, and joins anew', async (t) => {
    const told = await remove(third, third)
    t.equal(told.status, 200, told.text)
    await begunAnew(third)
    t.equal(await cluster(third), null)
    t.same(await names(third), ['ours'])
    await add(third, 'own')
    t.same([filesOf(third).exist, etcdOf(third.daemon.state)], [false, []])
    t.equal((await join(third, 'third', second)).status, 200)
    await allVote(first, 3)
    t.same(
      await until(
        'entries',
        () => names(third),
        (found) => found.length === 2,
      ),
      ['behind', 'ours'],
    )
    await add(third, 'again')
  })

  await t.test('one that is there becomes a single node by itself', async (t) => {
    const told = await remove(first, second)
    t.equal(told.status, 200, told.text)
    await begunAnew(second, 2)
    t.equal(
      await until(
        'its end',
        () => cluster(second),
        (state) => state === null,
      ),
      null,
    )
    t.same(await names(second), ['again', 'behind', 'ours'])
    await add(second, 'alone')
    await add(third, 'without it')
    t.same(
      (await cluster(first)).nodes.map(({ id }: { id: string }) => id),
      ids(first, third),
    )
  })

  await t.test('what would leave too few is refused', async (t) => {
    await die(third)
    const refused = await remove(first, third)
    t.match([refused.status, refused.json.code], [503, 'NO_QUORUM'])
    await third.daemon.start()
    await until(
      'quorum',
      () => cluster(first),
      ({ quorum }) => quorum === true,
    )
  })

  await t.test('a node leaves by itself, and the last one only when it is forced', async (t) => {
    await until(
      'quorum',
      () => cluster(third),
      ({ quorum }) => quorum === true,
    )
    const told = await remove(third, third)
    t.equal(told.status, 200, told.text)
    await until(
      'its end',
      () => cluster(first),
      ({ nodes }) => nodes.length === 1,
    )
    await add(first, 'alone')
    const refused = await remove(first, first)
    t.match([refused.status, refused.json.code], [409, 'IN_USE'])
    t.equal((await remove(first, first, '?force=true')).status, 200)
    await begunAnew(first, 2)
    t.equal(await cluster(first), null)
    t.ok((await names(first)).includes('alone'))
  })
  return undefined
})
