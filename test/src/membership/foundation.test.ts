import { X509Certificate } from 'node:crypto'
import t from 'tap'
import { Checkpoints } from '../../../src/cluster/checkpoint.ts'
import { LargeValues } from '../../../src/cluster/large-values.ts'
import { readNodeCertificate } from '../../../src/cluster/node-certificate.ts'
import { GUARD } from '../../../src/cluster/places.ts'
import {
  authoritiesIn,
  certify,
  foundIn,
  newAuthorities,
  newRequests,
  withKeys,
} from '../../../src/membership/foundation.ts'
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
