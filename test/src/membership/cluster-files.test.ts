import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import { ClusterFiles } from '../../../src/membership/cluster-files.ts'
import { temporaryFolder } from '../../fixtures/config.ts'

const credentials = (name: string) => ({
  key: `${name} key`,
  certificate: `${name} certificate`,
  ca: `${name} authority`,
})
const certificates = { peer: credentials('peer'), client: credentials('client') }

t.test('a node is in a cluster when everything that it needs is there', async (t) => {
  const files = new ClusterFiles(temporaryFolder(t, 'state'))
  t.same([files.exist, files.read()], [false, undefined])
  await files.prepare(certificates, ['--name=a', '--data-dir=b'])
  t.same([files.exist, files.read()], [true, undefined], 'as a crash would leave it')
  const keys = [newClusterKey()] as const
  const own = { clusterId: 'c', name: 'site', nodeId: 'n', epoch: 1, keys, host: '192.0.2.1', port: 9444 }
  await files.commit(own)
  t.same(files.read(), own)
  t.same(files.certificates(), certificates)
  await files.remove()
  t.same([files.exist, files.read()], [false, undefined])
})

t.test('what is in it is for its owner', async (t) => {
  const files = new ClusterFiles(temporaryFolder(t, 'state'))
  await files.prepare(certificates, [])
  t.equal(statSync(files.folder).mode & 0o777, 0o700)
  const names = readdirSync(files.folder)
  t.equal(names.length, 7)
  for (const name of names) t.equal(statSync(join(files.folder, name)).mode & 0o777, 0o600, name)
})

t.test('what an earlier cluster has left goes', async (t) => {
  const files = new ClusterFiles(temporaryFolder(t, 'state'))
  await files.prepare(certificates, [])
  await files.commit({ clusterId: 'c', name: 'x', nodeId: 'n', epoch: 1, keys: [newClusterKey()], host: 'h', port: 1 })
  await files.prepare(certificates, [])
  t.equal(files.read(), undefined)
})
