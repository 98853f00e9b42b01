import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { Checkpoints } from '../../../src/cluster/checkpoint.ts'
import { LargeValues } from '../../../src/cluster/large-values.ts'
import { readNodeCertificate } from '../../../src/cluster/node-certificate.ts'
import { GUARD } from '../../../src/cluster/places.ts'
import { keyIdOf, newClusterKey } from '../../../src/cluster/sealing.ts'
import {
  authoritiesIn,
  certify,
  foundIn,
  memberOf,
  newAuthorities,
  newRequests,
  requestsOf,
  revocationOf,
  sealAuthorities,
  withKeys,
} from '../../../src/membership/foundation.ts'
import type { Removed } from '../../../src/membership/members.ts'
import { clusterKeys } from '../../fixtures/cluster-in-memory.ts'
import { openStore } from '../../fixtures/config.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

const NOW_MS = Date.now()

t.test('a cluster begins with its store, and with authorities that only nodes can read', async (t) => {
  const etcd = new EtcdInMemory().client()
  const authorities = await newAuthorities('cluster-1', NOW_MS)
  const { folding } = openStore(t)
  const first = { state: folding.snapshot(), position: 1, epoch: 1 }
  await foundIn(etcd, clusterKeys(), authorities, first)
  const { kvs } = await etcd.range({ key: GUARD })
  t.equal(Buffer.from(kvs[0]?.value ?? []).toString(), '1 1')
  const found = await new Checkpoints(etcd, new LargeValues(etcd, clusterKeys()), 1).read()
  t.same(found?.state, JSON.parse(JSON.stringify(first.state)))
  const again = await authoritiesIn(etcd, clusterKeys())
  t.equal(again.client.pin, authorities.client.pin)
  t.not(again.peer.pin, again.client.pin)
  const all = await etcd.range({ prefix: '/f/authority/' })
  for (const { value } of all.kvs) t.notOk(Buffer.from(value).toString('latin1').includes('PRIVATE KEY'))
})

t.test('a node is certified by both, with the address that it is reached at and comes from', async (t) => {
  const authorities = await newAuthorities('cluster-1', NOW_MS)
  const { keys, requests } = await newRequests()
  const place = { nodeId: 'node-1', host: '127.3.2.1', port: 9444 }
  const certificates = withKeys(await certify(authorities, requests, place, NOW_MS), keys)
  for (const role of ['peer', 'client'] as const) {
    const { certificate, ca, key } = certificates[role]
    const parsed = new X509Certificate(certificate)
    t.ok(parsed.verify(new X509Certificate(ca).publicKey))
    t.match(parsed.subjectAltName, /127\.3\.2\.1.*127\.0\.0\.1/)
    t.equal(readNodeCertificate(parsed).nodeId, 'node-1')
    t.match(key, /PRIVATE KEY/)
  }
})

t.test('a key that a node has is certified again, for two addresses', async (t) => {
  const authorities = await newAuthorities('cluster-1', NOW_MS)
  const { keys, requests } = await newRequests()
  const place = { nodeId: 'node-1', host: '192.0.2.1', port: 9444 }
  const first = withKeys(await certify(authorities, requests, place, NOW_MS), keys)
  const moved = { ...place, host: '192.0.2.2' }
  const again = await certify(authorities, await requestsOf(first), moved, NOW_MS, place)
  for (const role of ['peer', 'client'] as const) {
    const shown = new X509Certificate(again[role].certificate)
    t.ok(shown.checkIP('192.0.2.1') && shown.checkIP('192.0.2.2'))
    t.equal(readNodeCertificate(shown).pin, readNodeCertificate(first[role].certificate).pin)
  }
  const own = { clusterId: 'c', name: 'site', epoch: 1, keys: [newClusterKey()] as const, ...place }
  const member = memberOf(own, again, { name: 'left', tokenKey: 'k', since: '1' })
  const { pin, serial } = readNodeCertificate(again.client.certificate)
  t.match(member, { id: 'node-1', name: 'left', host: '192.0.2.1', pin, tokenKey: 'k', since: '1' })
  t.same([member.serials.length, member.serials[0]], [2, serial])
})

t.test('authorities are sealed with the newest key, and certificates of removed nodes are listed', async (t) => {
  const etcd = new EtcdInMemory().client()
  const keys = clusterKeys()
  const authorities = await newAuthorities('cluster-1', NOW_MS)
  const { folding } = openStore(t)
  await foundIn(etcd, keys, authorities, { state: folding.snapshot(), position: 1, epoch: 1 })
  const sealedWith = async () =>
    (await etcd.range({ prefix: '/f/authority/' })).kvs.map(({ value }) => keyIdOf(value) === keys.newestKeyId)
  keys.add(newClusterKey())
  t.same(await sealedWith(), [false, false])
  await sealAuthorities(etcd, keys)
  t.same(await sealedWith(), [true, true])
  t.equal((await authoritiesIn(etcd, keys)).peer.pin, authorities.peer.pin)
  const { revision } = await etcd.range({ prefix: '/f/authority/' })
  await sealAuthorities(etcd, keys)
  t.equal((await etcd.range({ prefix: '/f/authority/' })).revision, revision, 'once')
  const removed = {
    member: { serials: ['0A', '0B'] },
    at: new Date(NOW_MS).toISOString(),
    stage: 'out',
  } as unknown as Removed
  const { serials, lists } = await revocationOf(authorities, [removed, { ...removed, stage: 'marked' }], 3, NOW_MS)
  t.same(serials, ['0A', '0B'])
  t.match([lists.peer, lists.client], [/X509 CRL/, /X509 CRL/])
})
