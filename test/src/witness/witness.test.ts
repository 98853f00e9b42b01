import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import { readNodeCertificate } from '../../../src/cluster/node-certificate.ts'
import { keepAuthorities, newAuthorities, pairOf } from '../../../src/membership/authorities.ts'
import { WitnessFiles } from '../../../src/witness/witness-files.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { type EtcdOfWitness, newWitness, twoNodes } from '../../fixtures/witnessed.ts'
import { until } from '../../fixtures/until.ts'

/** A witness and a node, which communicate over real connections; etcd is simulated. */

async function joined(
  ...[test, clock = manualClock(Date.now())]: [Parameters<typeof twoNodes>[0], ReturnType<typeof manualClock>?]
) {
  const nodes = await twoNodes(test, clock)
  const witness = await newWitness(test, clock)
  witness.hand((await nodes.issue()).toText())
  const begun = await witness.begin()
  const { members, care } = nodes
  const id = members.witness?.id ?? ''
  await until(
    'a session, and its etcd',
    async () => care.doesVote(),
    (isThere) => isThere,
  )
  const files = new WitnessFiles(witness.stateFolder)
  const look = () => care.look({ leader: 'a' } as never, nodes.listed)
  return { ...nodes, ...witness, ...begun, id, files, look }
}

t.test('it joins with a token, and has no secret that opens anything', async (t) => {
  const { members, listed, said, etcd, files, stateFolder, tokenFile, own, keys } = await joined(t)
  t.match(members.witness, { name: /./, certifiedBy: 1, trusts: 1, serials: { length: 1 } })
  t.same([members.all().length, members.voters().length], [2, 3], 'it is no node')
  t.match(listed[2], { isLearner: true, peerUrls: [`https://127.0.0.1:${(members.witness?.port ?? 0) + 2}`] })
  t.notOk(existsSync(tokenFile))
  await until(
    'its word',
    async () => said.at(-1),
    (last) => last === 'votes in the cluster site',
  )
  t.equal(etcd.asked[0], 'start')
  t.match(files.read(), { clusterId: own.clusterId, nodes: [{ id: 'a' }, { id: 'b' }] })
  const folder = join(stateFolder, 'cluster')
  t.equal(statSync(folder).mode & 0o777, 0o700)
  const written = readdirSync(folder).filter((name) => name !== 'socket')
  t.same(
    written.filter((name) => name.startsWith('client')),
    ['client-authority.pem', 'client-revoked.crl'],
  )
  const texts = written.map((name) => readFileSync(join(folder, name), 'latin1')).join('')
  for (const { key } of keys.stored()) t.notOk(texts.includes(key), 'not the key of the cluster')
  t.equal(texts.split('PRIVATE KEY-----').length - 1, 2, 'one key, its own')
  t.match(texts, /--listen-client-urls=unix:\/\/\/.*etcd\.sock/)
})

t.test('it continues after a restart, but not elsewhere', async (t) => {
  const { close, begin, care, id, said } = await joined(t)
  await close()
  await t.rejects(begin({ peer: { host: '127.0.0.1', port: 1 } }), /the nodes know this witness at/)
  await begin()
  // A node knows its peers a moment after its own records do.
  const isReachable = () => {
    try {
      return care.livenessOf(id).isReachable
    } catch {
      return false
    }
  }
  await until(
    'a session',
    async () => (await care.doesVote()) && isReachable(),
    (isThere) => isThere,
  )
  t.equal(said.at(-1), 'votes in the cluster site')
})

t.test('a token that is left beside a voting witness is deleted', async (t) => {
  const clock = manualClock(Date.now())
  const { hand, tokenFile } = await joined(t, clock)
  hand('left')
  await until(
    'its end',
    async () => {
      clock.advance(30_000)
      return existsSync(tokenFile)
    },
    (isThere) => !isThere,
  )
})

t.test('after a start at which its etcd fails, or the token cannot be read, it continues to look', async (t) => {
  const { close, begin, etcd, said, tokenFile } = await joined(t)
  await close()
  await etcd.goOut()
  await (await begin()).close()
  t.equal(said.at(-1), 'can reach too few voters of the cluster site')

  const other = await newWitness(t)
  mkdirSync(other.tokenFile)
  await (await other.begin()).close()
  t.match(other.said, [/^waits for a token/])
  t.notOk(existsSync(tokenFile))
})

t.test('admitted while its port is in use, it continues when that is free', async (t) => {
  const nodes = await twoNodes(t)
  const witness = await newWitness(t)
  witness.hand((await nodes.issue()).toText())
  const inTheWay = createServer()
  const isIn = (message: string) => message.startsWith('this is now the witness')
  const info = (message: string) => void (isIn(message) && inTheWay.listen(witness.peer))
  await witness.begin({ log: { ...silentLog, info } })
  t.ok(inTheWay.listening)
  t.same(witness.etcd.asked, [])
  inTheWay.close()
  await until(
    'its word',
    async () => witness.said.at(-1),
    (last) => last === 'votes in the cluster site',
  )
})

t.test('its etcd moves to the current socket, once', async (t) => {
  const { close, begin, files, etcd, said } = await joined(t)
  await close()
  const { cluster } = files
  const before = readFileSync(join(cluster.folder, 'etcd.env'), 'utf8')
  const at = (socket: string) => `--listen-client-urls=unix://${socket}`
  const old = before.replace(at(cluster.socket), at(join(cluster.folder, 'etcd.sock')))
  t.not(old, before)
  writeFileSync(join(cluster.folder, 'etcd.env'), old)
  const { length } = etcd.asked
  await (await begin()).close()
  t.same(etcd.asked.slice(length), ['stop', 'start'], 'otherwise it would continue at the old one')
  t.ok(cluster.hasArgument(at(cluster.socket)))
  t.ok(cluster.hasArgument('--initial-cluster-state=existing'))
  await begin()
  t.same(etcd.asked.slice(length), ['stop', 'start'])
  t.equal(said.at(-1), 'votes in the cluster site')
})

t.test('it follows the trusted authorities, as nodes announce them', async (t) => {
  const { members, files, look, etcd, keys, client, id } = await joined(t)
  const gone = { id: 'c', name: 'c', host: 'c', port: 1, pin: 'c', serials: ['01'], certifiedBy: 1, trusts: 1 }
  const mark = { member: { ...gone, version: '1', since: '' }, at: new Date().toISOString(), by: 'a', isLeaving: false }
  await members.mark(() => ({ ...mark, stage: 'done', keyId: keys.newestKeyId }))
  await look()
  t.match(files.cluster.trust(), { serials: ['01'], authorities: [1], isInForce: true })
  t.equal(etcd.asked.at(-1), 'restart')
  const before = readNodeCertificate(files.credentials().certificate)

  t.comment('other authorities')
  keys.add(newClusterKey())
  const kept = await keepAuthorities(client, keys, await newAuthorities('cluster-1', Date.now()))
  await members.tellAuthorities(() => pairOf(kept, keys.newestKeyId, 2))
  await look()
  t.match(members.witness, { trusts: 2, certifiedBy: 1 }, 'first it trusts both')
  for (const node of ['a', 'b']) await members.change(node, (member) => ({ ...member, trusts: 2 }))
  await look()
  const after = readNodeCertificate(files.credentials().certificate)
  t.match(members.witness, { id, certifiedBy: 2, serials: [before.serial, after.serial] })
  t.equal(after.pin, before.pin, 'it is recognised by its key')
})

t.test('its certificate is renewed before its expiry', async (t) => {
  const clock = manualClock(Date.now())
  const { members, look, files } = await joined(t, clock)
  const before = files.credentials().notAfter_ms
  await look()
  t.equal(files.credentials().notAfter_ms, before)
  clock.advance(340 * 86_400_000)
  await look()
  const { notAfter_ms } = files.credentials()
  t.ok(notAfter_ms > before)
  t.match(members.witness, { certificateEnd: new Date(notAfter_ms).toISOString(), serials: { length: 2 } })
})

t.test('a certificate that it cannot store is sent again, and no other one is issued meanwhile', async (t) => {
  const clock = manualClock(Date.now())
  const { members, look, files } = await joined(t, clock)
  const end = files.credentials().notAfter_ms
  const inTheWay = `${files.cluster.path('peer', 'certificate')}.new`
  mkdirSync(inTheWay)
  clock.advance(340 * 86_400_000)
  for (let again = 0; again < 3; again++) {
    await look()
    clock.advance(11_000)
  }
  t.match(members.witness, { serials: { length: 2 } }, 'each adds one more to the record on all nodes')
  t.equal(files.credentials().notAfter_ms, end)
  rmSync(inTheWay, { recursive: true })
  await look()
  t.ok(files.credentials().notAfter_ms > end)
  const { serial } = readNodeCertificate(files.credentials().certificate)
  t.match(members.witness, { serials: { length: 2, 1: serial } })
})

t.test('it learns the nodes, and hands leadership to an available one', async (t) => {
  const { members, look, files, etcd, care, listed, id } = await joined(t)
  await members.change('b', (member) => ({ ...member, pin: 'another' }))
  await look()
  t.match(files.read()?.nodes[1], { id: 'b', pin: 'another' })
  listed.splice(2, 1, { id: '3', name: id, peerUrls: [], clientUrls: [], isLearner: false })
  await care.look({ leader: '3' } as never, listed)
  t.match(etcd.asked.at(-1), /transfer-leadership.*"targetID":"a"/)
})

for (const [how, end] of [
  ['hears of no leader', (etcd: EtcdOfWitness) => void (etcd.leader = '0')],
  ['ends whenever it is started', (etcd: EtcdOfWitness) => etcd.goOut()],
] as const)
  t.test(`removed, where its etcd ${how}, it forgets its cluster and waits for another token`, async (t) => {
    const { members, etcd, files, said, keys, id } = await joined(t)
    await members.remove(() => {
      const member = members.voter(id)
      const mark = { stage: 'out', at: new Date().toISOString(), by: 'a', isLeaving: true, isWitness: true } as const
      return member && { ...mark, member, keyId: keys.newestKeyId }
    })
    t.same([members.witness, members.voter(id)], [undefined, undefined])
    t.same(members.replaceable(), [], 'no node takes its place')
    await end(etcd)
    await until(
      'its word',
      async () => said.at(-1),
      (last = '') => last.startsWith('waits for a token'),
    )
    t.same([etcd.asked.at(-1), files.cluster.exist], ['stop', false])
  })

t.test('ended while its etcd ends, it does not restart it', async (t) => {
  const { etcd, close } = await joined(t)
  const { length } = etcd.asked
  await etcd.hang()
  const closed = close()
  await etcd.goOut()
  await closed
  t.same(etcd.asked.slice(length), [])
})

t.test('an etcd member that does not start is replaced, and one that has started continues', async (t) => {
  const clock = manualClock(Date.now())
  const { etcd, look, files, listed, removed, id } = await joined(t, clock)
  const [, , newcomer] = listed
  t.equal(newcomer?.name, '', 'etcd does not know it yet')
  mkdirSync(files.cluster.dataFolder)
  await look()
  clock.advance(11_000)
  await look()
  t.same([etcd.asked.slice(-2), existsSync(files.cluster.dataFolder)], [['stop', 'start'], false])
  t.same(removed, [newcomer?.peerUrls], 'no etcd member is wiped and continues as the same one')
  t.same(listed[2], newcomer, 'there is room for another one')
  t.ok(files.cluster.hasArgument('--initial-cluster-state=existing'), 'it can be started')
  listed[2] = { ...listed[2]!, name: id }
  mkdirSync(files.cluster.dataFolder)
  await look()
  clock.advance(21_000)
  await look()
  t.same([removed.length, existsSync(files.cluster.dataFolder)], [1, true])
})
