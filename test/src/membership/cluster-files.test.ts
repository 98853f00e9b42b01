import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { pemOf } from '../../../src/cluster/revocation-list.ts'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import { ClusterFiles } from '../../../src/membership/cluster-files.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const credentials = (name: string) => ({
  key: `${name} key`,
  certificate: `${name} certificate`,
  ca: `${name} authority`,
})
const revocation = {
  serials: ['01'],
  authorities: [1],
  lists: { peer: pemOf(Buffer.from('a list')), client: pemOf(Buffer.from('b')) },
  ofClients: ['list'],
}
const { lists: _lists, ...trust } = revocation
const certificates = { peer: credentials('peer'), client: credentials('client') }

const OWN = { clusterId: 'c', name: 'x', nodeId: 'n', epoch: 1, keys: [newClusterKey()], host: 'h', port: 1 } as const

t.test('a node is in a cluster when all its files exist', async (t) => {
  const files = new ClusterFiles(temporaryFolder(t, 'state'))
  t.same([files.exist, files.read()], [false, undefined])
  await files.prepare(certificates, revocation, ['--name=a', '--data-dir=b'])
  t.same([files.exist, files.read()], [true, undefined], 'as a crash would leave it')
  const keys = [newClusterKey()] as const
  const own = { clusterId: 'c', name: 'site', nodeId: 'n', epoch: 1, keys, host: '192.0.2.1', port: 9444 }
  await files.commit(own)
  t.same(files.read(), own)
  const { peer, client } = files.certificates()
  t.match({ peer, client }, certificates)
  t.same([peer.crls, client.crls], [undefined, ['list']])
  t.equal(readFileSync(files.path('peer', 'crl'), 'utf8'), 'a list', 'as etcd reads it')
  t.same(files.trust(), { ...trust, isInForce: true })
  await files.keepRevocation({ ...revocation, authorities: [1, 2] }, false, { peer: 'p', client: 'both' })
  t.same([files.trust().authorities, files.trust().isInForce], [[1, 2], false])
  t.equal(files.certificates().client.ca, 'both')
  await files.keepCertificates({ peer: { certificate: 'x', ca: 'y' }, client: { certificate: 'new', ca: 'other' } })
  t.match(files.certificates().client, { key: 'client key', certificate: 'new', ca: 'other' })
  await files.remove()
  t.same([files.exist, files.read()], [false, undefined])
})

t.test('its content is for its owner', async (t) => {
  const files = new ClusterFiles(temporaryFolder(t, 'state'))
  await files.prepare(certificates, revocation, [])
  t.equal(files.haproxy, undefined)
  await files.keepHaproxy({ key: 'k', certificate: 'c' })
  t.same(files.haproxy, { key: 'k', certificate: 'c' })
  t.equal(statSync(files.folder).mode & 0o777, 0o700)
  const names = readdirSync(files.folder)
  t.equal(names.length, 11)
  for (const name of names) t.equal(statSync(join(files.folder, name)).mode & 0o777, 0o600, name)
})

t.test('a group that may enter the folder can read what etcd needs to listen, and nothing else', async (t) => {
  const files = new ClusterFiles(temporaryFolder(t, 'state'))
  await files.prepare(certificates, revocation, [])
  chmodSync(files.folder, 0o2710)
  const umask = process.umask(0o077)
  t.teardown(() => void process.umask(umask))
  await files.keepCertificates(certificates)
  await files.keepRevocation(revocation, true)
  await files.keepArguments(['--name=a'])
  await files.keepHaproxy({ key: 'k', certificate: 'c' })
  await files.keepHalt('it differs')
  await files.commit(OWN)
  const modes = readdirSync(files.folder).map((name) => [name, statSync(join(files.folder, name)).mode & 0o777])
  t.same(
    modes.filter(([, mode]) => mode === 0o640).map(([name]) => name),
    ['client', 'peer'].flatMap((role) =>
      ['authority.pem', 'certificate.pem', 'revoked.crl'].map((part) => `${role}-${part}`),
    ),
  )
  t.same(
    modes.filter(([, mode]) => mode === 0o600).map(([name]) => name),
    ['client-key.pem', 'etcd.env', 'halt.json', 'haproxy.json', 'membership.json', 'peer-key.pem', 'trust.json'],
    'keys are as they were written before',
  )
})

t.test('the halt of a node is stored until it is in no cluster, or has the data of the others', async (t) => {
  const folder = temporaryFolder(t, 'state')
  const files = new ClusterFiles(folder)
  await files.prepare(certificates, revocation, [])
  t.equal(files.halt, undefined)
  await files.keepHalt('it differs')
  t.equal(new ClusterFiles(folder).halt, 'it differs')
  await files.forgetHalt()
  t.equal(files.halt, undefined)
  await files.keepHalt('it differs again')
  await files.commit({ ...OWN, isLeaving: true })
  await files.leave()
  t.equal(files.halt, undefined)
  await files.prepare(certificates, revocation, [])
  t.equal(files.halt, undefined)
})

t.test('files of an earlier cluster are deleted', async (t) => {
  const files = new ClusterFiles(temporaryFolder(t, 'state'))
  await files.prepare(certificates, revocation, [])
  await files.commit(OWN)
  await files.prepare(certificates, revocation, [])
  t.equal(files.read(), undefined)
})

t.test('a leaving node is in its cluster until nothing else is left', async (t) => {
  const files = new ClusterFiles(temporaryFolder(t, 'state'))
  await files.prepare(certificates, revocation, [])
  await files.commit({ ...OWN, isLeaving: true })
  await files.leave()
  t.same([files.exist, files.read()], [false, undefined])
})
