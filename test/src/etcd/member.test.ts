import t from 'tap'
import { memberArguments, type MemberSettings } from '../../../src/etcd/member.ts'

const side = (name: string, port: number) => ({
  listen: [`https://192.0.2.1:${port}`],
  advertise: [`https://192.0.2.1:${port}`],
  certificateFile: `/etc/cluster/${name}.crt`,
  keyFile: `/etc/cluster/${name}.key`,
  caFile: `/etc/cluster/${name}-ca.crt`,
  crlFile: `/etc/cluster/${name}.crl`,
})

const SETTINGS: MemberSettings = {
  name: 'n1',
  dataFolder: '/var/lib/cluster/etcd',
  peer: side('peer', 2380),
  client: { ...side('client', 2379), listen: ['https://192.0.2.1:2379', 'https://127.0.0.1:2379'] },
  members: { n1: ['https://192.0.2.1:2380'], n2: ['https://192.0.2.2:2380', 'https://[2001:db8::2]:2380'] },
  state: 'new',
  token: 'born-1',
}

t.test('the arguments of a member', async (test) => {
  test.same(memberArguments(SETTINGS), [
    '--name=n1',
    '--data-dir=/var/lib/cluster/etcd',
    '--listen-peer-urls=https://192.0.2.1:2380',
    '--initial-advertise-peer-urls=https://192.0.2.1:2380',
    '--listen-client-urls=https://192.0.2.1:2379,https://127.0.0.1:2379',
    '--advertise-client-urls=https://192.0.2.1:2379',
    '--initial-cluster=n1=https://192.0.2.1:2380,n2=https://192.0.2.2:2380,n2=https://[2001:db8::2]:2380',
    '--initial-cluster-state=new',
    '--initial-cluster-token=born-1',
    '--cert-file=/etc/cluster/client.crt',
    '--key-file=/etc/cluster/client.key',
    '--trusted-ca-file=/etc/cluster/client-ca.crt',
    '--client-cert-auth=true',
    '--client-crl-file=/etc/cluster/client.crl',
    '--peer-cert-file=/etc/cluster/peer.crt',
    '--peer-key-file=/etc/cluster/peer.key',
    '--peer-trusted-ca-file=/etc/cluster/peer-ca.crt',
    '--peer-client-cert-auth=true',
    '--peer-crl-file=/etc/cluster/peer.crl',
    '--experimental-peer-skip-client-san-verification=true',
    '--tls-min-version=TLS1.3',
    '--quota-backend-bytes=536870912',
    '--auto-compaction-mode=periodic',
    '--auto-compaction-retention=1h',
    '--snapshot-count=10000',
    '--max-wals=2',
    '--experimental-initial-corrupt-check=true',
    '--experimental-compact-hash-check-enabled=true',
    '--logger=zap',
    '--log-outputs=stderr',
    '--log-level=warn',
  ])
})

t.test('missing settings are left out, and given ones are passed', async (test) => {
  const { crlFile: _peer, ...peer } = SETTINGS.peer
  const { crlFile: _client, ...client } = SETTINGS.client
  const bare = memberArguments({ ...SETTINGS, peer, client, state: 'existing' })
  test.notMatch(bare.join(' '), /crl|force/)
  test.ok(bare.includes('--initial-cluster-state=existing'))
  const more = memberArguments({ ...SETTINGS, isForcedNew: true, progressEvery_s: 5 })
  test.ok(more.includes('--force-new-cluster=true'))
  test.ok(more.includes('--experimental-watch-progress-notify-interval=5s'))
})

t.test('a member without remote clients keeps few entries in memory', async (test) => {
  const args = memberArguments({ ...SETTINGS, client: { socket: '/var/lib/cluster/etcd.sock' } })
  test.same(
    args.filter((one) => one.includes('snapshot')),
    ['--snapshot-count=500', '--experimental-snapshot-catchup-entries=500'],
  )
})
