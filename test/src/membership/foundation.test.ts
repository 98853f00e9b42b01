import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { Checkpoints } from '../../../src/cluster/checkpoint.ts'
import { LargeValues } from '../../../src/cluster/large-values.ts'
import { readNodeCertificate } from '../../../src/cluster/node-certificate.ts'
import { GUARD } from '../../../src/cluster/places.ts'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import {
  certify,
  foundIn,
  memberOf,
  newRequests,
  requestsOf,
  revocationOf,
  withKeys,
} from '../../../src/membership/foundation.ts'
import { authoritiesIn, firstIssuers, newAuthorities, pairOf } from '../../../src/membership/authorities.ts'
import type { Removed } from '../../../src/membership/members.ts'
import { clusterKeys } from '../../fixtures/cluster-in-memory.ts'
import { openStore } from '../../fixtures/config.ts'
import { FIRST_CERTIFIED } from '../../fixtures/membership.ts'
import { EtcdInMemory } from '../../simulators/etcd-in-memory.ts'

const NOW_MS = Date.now()

const newIssuers = async (keyId = clusterKeys().newestKeyId) =>
  firstIssuers(await newAuthorities('cluster-1', NOW_MS), keyId)

t.test('a cluster begins with its store, and with authorities that only nodes can read', async (t) => {
  const etcd = new EtcdInMemory().client()
  const issuers = await newIssuers()
  const { folding } = openStore(t)
  const first = { state: folding.snapshot(), position: 1 }
  await foundIn(etcd, clusterKeys(), issuers, first)
  const { kvs } = await etcd.range({ key: GUARD })
  t.equal(Buffer.from(kvs[0]?.value ?? []).toString(), '1 1')
  const found = await new Checkpoints(etcd, new LargeValues(etcd, clusterKeys()), 1).read()
  t.same(found?.state, JSON.parse(JSON.stringify(first.state)))
  const again = await authoritiesIn(etcd, clusterKeys(), clusterKeys().newestKeyId)
  t.equal(again.client.pin, issuers.pairs[0].authorities.client.pin)
  t.not(again.peer.pin, again.client.pin)
  const all = await etcd.range({ prefix: '/f/authority/' })
  for (const { value } of all.kvs) t.notOk(Buffer.from(value).toString('latin1').includes('PRIVATE KEY'))
})

t.test('a node is certified by both, for the address at which it is reached and from which it connects', async (t) => {
  const issuers = await newIssuers()
  const { keys, requests } = await newRequests()
  const place = { nodeId: 'node-1', host: '127.3.2.1', port: 9444 }
  const certificates = withKeys(await certify(issuers, requests, place, NOW_MS), keys)
  for (const role of ['peer', 'client'] as const) {
    const { certificate, ca, key } = certificates[role]
    const parsed = new X509Certificate(certificate)
    t.ok(parsed.verify(new X509Certificate(ca).publicKey))
    t.match(parsed.subjectAltName, /127\.3\.2\.1.*127\.0\.0\.1/)
    t.equal(readNodeCertificate(parsed).nodeId, 'node-1')
    t.match(key, /PRIVATE KEY/)
  }
})

t.test('an existing key is certified again, for two addresses', async (t) => {
  const issuers = await newIssuers()
  const { keys, requests } = await newRequests()
  const place = { nodeId: 'node-1', host: '192.0.2.1', port: 9444 }
  const first = withKeys(await certify(issuers, requests, place, NOW_MS), keys)
  const moved = { ...place, host: '192.0.2.2' }
  const again = await certify(issuers, await requestsOf(first), moved, NOW_MS, place)
  for (const role of ['peer', 'client'] as const) {
    const shown = new X509Certificate(again[role].certificate)
    t.ok(shown.checkIP('192.0.2.1') && shown.checkIP('192.0.2.2'))
    t.equal(readNodeCertificate(shown).pin, readNodeCertificate(first[role].certificate).pin)
  }
  const own = { clusterId: 'c', name: 'site', epoch: 1, keys: [newClusterKey()] as const, ...place }
  const member = memberOf(own, again, { name: 'left', tokenKey: 'k', since: '1', ...FIRST_CERTIFIED })
  const { pin, serial } = readNodeCertificate(again.client.certificate)
  t.match(member, { id: 'node-1', name: 'left', host: '192.0.2.1', pin, tokenKey: 'k', since: '1' })
  t.same([member.serials.length, member.serials[0]], [2, serial])
})

t.test('certificates of removed nodes are revoked by every valid authority', async (t) => {
  const { pairs: first } = await newIssuers()
  const authorities = await newAuthorities('cluster-1', NOW_MS)
  const second = { ...pairOf(authorities, 'k', 2), authorities }
  const removed = {
    member: { serials: ['0A', '0B'] },
    at: new Date(NOW_MS).toISOString(),
    stage: 'out',
  } as unknown as Removed
  const gone = [removed, { ...removed, stage: 'marked' } as const]
  const revocation = await revocationOf({ issuer: 2, pairs: [...first, second] }, gone, 3)
  t.match(revocation, { serials: ['0A', '0B'], authorities: [1, 2], ofClients: { length: 2 } })
  for (const list of [revocation.lists.peer, revocation.lists.client, ...revocation.ofClients])
    t.match(list, /X509 CRL/)
  await t.rejects(revocationOf({ issuer: 3, pairs: first }, gone, 3), /are no longer valid/)
})
