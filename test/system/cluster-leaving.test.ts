import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { BASE, LOG_SPAN, NUMBER_DIGITS } from '../../src/cluster/places.ts'
import { ClusterKeys, keyIdOf } from '../../src/cluster/sealing.ts'
import { authoritiesIn, firstIssuers } from '../../src/membership/authorities.ts'
import { ClusterFiles, type NodeCertificates, type NodeCredentials } from '../../src/membership/cluster-files.ts'
import { certify, newRequests, withKeys } from '../../src/membership/foundation.ts'
import { beginningsOf, begunAnew, type ClusterDaemon, ClusterDaemons, join } from '../fixtures/cluster-daemons.ts'
import { etcdOf } from '../fixtures/etcd-programs.ts'
import {
  addRip,
  allVote,
  asked,
  die,
  etcdAt,
  idsOf,
  remove,
  removes,
  ripsOf,
  seenBy,
  threeNodes,
} from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** Real daemons with a real etcd each. */

const filesOf = ({ daemon }: ClusterDaemon) => new ClusterFiles(daemon.state)

/** Certificates of a new key, as a thief makes them from the files of a node and the data of its etcd. */
async function forgedBy(test: Test, node: ClusterDaemon): Promise<NodeCertificates> {
  const own = filesOf(node).read()
  if (own === undefined) throw new Error('it is in no cluster')
  const authorities = await authoritiesIn(
    etcdAt(test, node, filesOf(node)),
    new ClusterKeys(own.clusterId, own.keys),
    own.keys[0].keyId,
  )
  const { keys, requests } = await newRequests()
  const issuers = firstIssuers(authorities, own.keys[0].keyId)
  return withKeys(await certify(issuers, requests, own, Date.now()), keys)
}

/** Whether the two ports of its etcd accept a client with these certificates. */
async function takenAt({ address }: ClusterDaemon, { peer, client }: NodeCertificates) {
  const [host, port] = address.split(':')
  const isAnswered = ({ key, certificate: cert }: NodeCredentials, etcdPort: number) =>
    new Promise<boolean>((resolve) => {
      // The identity of the asked node does not matter here.
      const to = { host, port: etcdPort, path: '/version', key, cert, rejectUnauthorized: false, agent: false }
      get(to, (answer) => {
        answer.resume()
        resolve(answer.statusCode === 200)
      }).on('error', () => resolve(false))
    })
  return { peer: await isAnswered(peer, Number(port) + 2), client: await isAnswered(client, Number(port) + 1) }
}

t.test('nodes that are removed', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const { first, second, third } = await threeNodes(daemons)
  await addRip(first, 'ours')

  await t.test('are members of the cluster', async (t) => {
    const unknown = await first.daemon.call('DELETE', '/cluster/nodes/nobody')
    t.match([unknown.status, unknown.json.code], [404, 'NOT_FOUND'])
    t.same((await seenBy(first)).nodes.length, 3)
  })

  await t.test('a dead node is removed, and none of its secrets opens anything', async (t) => {
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
    const forged = await forgedBy(t, third)
    t.same(
      await takenAt(first, forged),
      { peer: true, client: true },
      "a thief who reads a node's files can issue any certificate",
    )
    await die(third)
    t.ok(await removes(first, third))
    for (const node of [first, second]) {
      const seen = await until(
        'its end',
        () => seenBy(node),
        ({ nodes }) => nodes.length === 2,
      )
      t.same(
        seen.nodes.map(({ id }: { id: string }) => id),
        idsOf(first, second),
      )
    }
    t.equal(await asks(), 401, 'a session of that node')
    await addRip(second, 'behind')
    const etcd = etcdAt(t, second, filesOf(second))
    t.same((await asked(() => etcd.members.list())).map(({ name }) => name).toSorted(), idsOf(first, second).toSorted())
    const [base] = (await asked(() => etcd.range({ key: BASE }))).kvs
    const old = before?.keys.map(({ keyId }) => keyId) ?? []
    t.notOk(old.includes(keyIdOf(base?.value.subarray(NUMBER_DIGITS) ?? Buffer.alloc(0))), 'the checkpoint')
    const last = (await asked(() => etcd.range(LOG_SPAN))).kvs.at(-1)
    t.notOk(old.includes(keyIdOf(last?.value ?? Buffer.alloc(0))), 'and later entries')
    await closed
    for (const node of [first, second]) {
      // Each node locks it out once it has read of the removal.
      const lockedOut = async () => {
        const isRefused = await etcdAt(t, node, stolen)
          .members.list()
          .then(() => false)
          .catch(() => true)
        return isRefused && readFileSync(`${node.daemon.state}/cluster/etcd.log`, 'utf8')
      }
      await until(
        'refusals',
        lockedOut,
        (log) => log !== false && /rejected connection on client.*certificate serial \w+ revoked/.test(log),
      )
      await t.rejects(etcdAt(t, node, stolen).members.list())
    }
    for (const node of [first, second]) {
      // A restarting member answers no request, so it is asked as itself before and after.
      const answers = async () => {
        const own = () => takenAt(node, filesOf(node).certificates())
        return [await own(), await takenAt(node, forged), await own()].flatMap(({ peer, client }) => [peer, client])
      }
      const wanted = [true, true, false, false, true, true].join()
      t.equal(String(await until('other authorities', answers, (seen) => String(seen) === wanted)), wanted)
    }
    const fourth = await daemons.start()
    const refused = await join(fourth, 'fourth', issued)
    t.match([refused.status, refused.json.errors[0].code], [422, 'WRONG_PIN'])
    await fourth.daemon.kill('SIGTERM')
    t.equal((await remove(first, third)).status, 404, 'the removal is complete')
  })

  await t.test('the removed node comes back, and reports that it is not a member', async (t) => {
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
    t.equal((await remove(third, first)).status, 503, 'it removes no node')
    t.same(await ripsOf(second), ['behind', 'ours'])
  })

  await t.test('it becomes a single node with its own records, and joins again', async (t) => {
    const before = beginningsOf(third)
    t.ok(await removes(third, third))
    await begunAnew(third, before)
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
  return undefined
})
