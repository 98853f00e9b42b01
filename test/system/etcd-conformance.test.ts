/** The substitute for etcd in tests of the cluster's log behaves like the etcd of Debian 13. */
import t from 'tap'
import { EtcdCluster } from '../fixtures/etcd.ts'
import { etcdPrograms } from '../fixtures/etcd-programs.ts'
import { etcdConformance } from '../simulators/etcd-conformance.ts'
import { EtcdInMemory } from '../simulators/etcd-in-memory.ts'

t.setTimeout(1_800_000)
const programs = await etcdPrograms()
const skip = typeof programs === 'string' ? programs : false

t.test('in memory', async (test) => {
  const etcd = new EtcdInMemory()
  await etcdConformance(test, { etcd: etcd.client(), compact: async (revision) => etcd.compact(revision) })
})

t.test('the real etcd', { skip }, async (test) => {
  if (typeof programs === 'string') return
  const client = (await EtcdCluster.start(test, programs, 1)).client()
  await etcdConformance(test, { etcd: client, compact: async (revision) => await client.compact(revision) })
})
