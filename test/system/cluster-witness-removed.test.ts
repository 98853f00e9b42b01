import { readdirSync, readFileSync, statSync } from 'node:fs'
import { get } from 'node:https'
import { join as pathOf } from 'node:path'
import t from 'tap'
import { silentLog } from '../../src/base/log.ts'
import { ClusterFiles, type NodeCredentials } from '../../src/membership/cluster-files.ts'
import { parseAddress } from '../../src/membership/node-address.ts'
import { PeerClient } from '../../src/peers/peer-client.ts'
import { WitnessFiles } from '../../src/witness/witness-files.ts'
import { type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, removes, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'
import { peerErrorOf } from '../fixtures/peers.ts'

/** The data and rights of a witness, its change of authorities, and its removal. */

/** Whether this port of the node's etcd answers a client with these certificates. */
const answersAt = ({ address }: ClusterDaemon, { key, certificate: cert }: NodeCredentials, above: number) =>
  new Promise<boolean>((resolve) => {
    const { host, port } = placeOf(address)
    // The identity of the asked node does not matter here.
    const to = { host, port: port + above, path: '/version', key, cert, rejectUnauthorized: false, agent: false }
    get(to, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    }).on('error', () => resolve(false))
  })

const placeOf = (address: string) => parseAddress(address, 0) ?? { host: '', port: 0 }

/** Every byte of the files in a folder. */
function bytesIn(folder: string): string {
  const texts = readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const path = pathOf(folder, entry.name)
    if (entry.isDirectory()) return bytesIn(path)
    return entry.isFile() ? readFileSync(path, 'latin1') : ''
  })
  return texts.join('\n')
}

t.test('a witness', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [left, right] = [await daemons.start(), await daemons.start()]
  await form(left, 'left')
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  await left.daemon.data('PUT', '/cluster', { preferredNode: left.daemon.node, takeoverAfter: 5 })
  const witness = daemons.witness()
  witness.start()
  const issued = await left.daemon.data('POST', '/cluster/tokens', { role: 'witness' })
  await witness.hand(String(issued.token))
  const files = new WitnessFiles(witness.state)
  const votes = (what: string) =>
    until(
      what,
      () => seenBy(left),
      (state) => state.witness?.isVoter === true,
    )
  const { id } = (await votes('its vote')).witness

  await t.test('has no secret that opens anything', async (t) => {
    await addRip(left, 'plainly-named')
    await addRip(right, 'plainly-named-too')
    const kept = bytesIn(witness.state)
    t.ok(kept.includes('/f/log/'), 'the log is there')
    for (const plain of ['plainly-named', 'admin@localhost', '192.0.2.1', String(issued.token)])
      t.notOk(kept.includes(plain), plain)
    for (const { key } of new ClusterFiles(left.daemon.state).read()?.keys ?? []) t.notOk(kept.includes(key), 'a key')
    t.equal(kept.split('PRIVATE KEY-----').length - 1, 2, 'one key, that of its own certificate')
    t.equal(statSync(files.cluster.folder).mode & 0o777, 0o700)
    t.equal(witness.stderr.includes(String(issued.token)), false)
  })

  await t.test('votes, and can neither read nor write as a client', async (t) => {
    const shown = files.credentials()
    t.same([await answersAt(left, shown, 2), await answersAt(left, shown, 1)], [true, false])
    const known = files.read()?.nodes.find((node) => node.id === left.daemon.node)
    const client = new PeerClient({
      self: id,
      credentials: { ...shown, crls: [] },
      peerOf: () => ({ name: 'left', pin: known?.pin ?? '', ...placeOf(left.address) }),
      log: silentLog,
    })
    t.teardown(() => client.close())
    const who = { userId: 'x', email: 'x', sessionId: 'x', address: '::1' }
    const request = {
      nodeId: left.daemon.node,
      method: 'GET',
      path: '/cluster',
      query: '',
      headers: {},
      requestId: 'r',
    }
    t.match(await peerErrorOf(client.forward({ ...request, who })), { kind: 'unreachable' })
  })

  await t.test('follows the change of authorities after a removal', async (t) => {
    t.ok(await removes(left, right))
    const trust = await until(
      'the new authorities alone',
      async () => files.cluster.trust(),
      ({ authorities, isInForce }) => isInForce && authorities.join() === '2',
    )
    t.equal(trust.serials.length > 0, true, 'the removed node is in its lists')
    await until(
      'an edit',
      () => left.daemon.call('POST', '/ipvsDirector/rips', { body: { name: 'later', ip: '192.0.2.2', port: 80 } }),
      ({ status }) => status === 201,
    )
    const { nodes, witness: shown, quorum } = await votes('its vote')
    t.match([nodes.length, shown.id, quorum], [1, id, true])
  })

  await t.test('removed, it is locked out and forgets; the pair is as before', async (t) => {
    const third = await daemons.start()
    t.equal((await join(third, 'third', left)).status, 200)
    await allVote(left, 2)
    const stolen = files.credentials()
    const before = witness.stdout.length
    const gone = await left.daemon.call('DELETE', `/cluster/nodes/${id}`)
    t.equal(gone.status, 200, gone.text)
    await witness.says(/waits for a token/, before)
    t.equal(files.cluster.exist, false)
    t.match(await seenBy(left), { witness: null, nodes: { length: 2 }, preferredNode: left.daemon.node, epoch: 1 })
    const isTaken = async () => [await answersAt(left, stolen, 2), await answersAt(third, stolen, 2)]
    await until('its certificate refused', isTaken, (taken) => taken.join() === 'false,false')
    const again = await left.daemon.data('POST', '/cluster/tokens', { role: 'witness' })
    await witness.hand(String(again.token))
    t.not((await votes('the vote of another one')).witness.id, id)
    t.equal(await witness.end(), 0)
    await addRip(third, 'afterwards')
    t.equal((await left.daemon.call('DELETE', `/cluster/nodes/${id}`)).status, 404)
  })
  return undefined
})
