import t from 'tap'
import type { Step } from '../../../src/drivers/driver.ts'
import { ClusterFiles } from '../../../src/membership/cluster-files.ts'
import { EtcdService } from '../../../src/membership/etcd-service.ts'
import { refuses } from '../../fixtures/config.ts'

const files = new ClusterFiles('/state')
const nothing = { ok: true, done: 0, recorded: 0, warnings: [] } as const

t.test('each side listens on its port, with the certificate of its authority', (t) => {
  const service = new EtcdService({ execute: async () => nothing, check: async () => nothing }, files)
  const args = (host: string) =>
    service.argumentsOf({ nodeId: 'n', clusterId: 'c', host, port: 9444 }, { n: ['https://x:9446'] }, 'new')
  for (const wanted of [
    '--name=n',
    '--data-dir=/state/cluster/etcd',
    '--listen-client-urls=https://192.0.2.1:9445',
    '--listen-peer-urls=https://192.0.2.1:9446',
    '--initial-cluster=n=https://x:9446',
    '--initial-cluster-state=new',
    '--trusted-ca-file=/state/cluster/client-authority.pem',
    '--peer-trusted-ca-file=/state/cluster/peer-authority.pem',
    '--client-cert-auth=true',
    '--peer-client-cert-auth=true',
  ])
    t.ok(args('192.0.2.1').includes(wanted), wanted)
  t.ok(args('2001:db8::1').includes('--listen-client-urls=https://[2001:db8::1]:9445'))
  t.ok(args('lb1.example').includes('--listen-client-urls=https://0.0.0.0:9445'), 'etcd does not listen on a name')
  t.ok(args('lb1.example').includes('--advertise-client-urls=https://lb1.example:9445'))
  t.end()
})

t.test('it is operated as a unit, and reports why it does not start', async (t) => {
  const steps: Step[] = []
  const done = new EtcdService(
    {
      execute: async (plan) => {
        steps.push(...plan)
        return nothing
      },
      check: async () => nothing,
    },
    files,
  )
  await done.start()
  await done.restart()
  await done.stop()
  t.match(
    steps,
    ['start', 'restart', 'stop'].map((verb) => ({ kind: 'unit', unit: 'etcd', verb })),
  )
  const failure = {
    ok: false,
    failedStep: 0,
    kind: 'unit',
    why: '',
    output: 'no etcd',
    missing: true,
    undone: true,
  } as const
  const failing = new EtcdService({ execute: async () => failure, check: async () => failure }, files)
  await refuses(t, 'NOT_SUPPORTED', failing.start())
})

t.test("no other machine is a client of a witness's etcd", (t) => {
  const service = new EtcdService({ execute: async () => nothing, check: async () => nothing }, files)
  const own = { nodeId: 'w', clusterId: 'c', host: '192.0.2.9', port: 9444 }
  const args = service.witnessArgumentsOf(own, { a: ['https://a:9446'], w: ['https://192.0.2.9:9446'] })
  for (const wanted of [
    '--listen-client-urls=unix:///state/cluster/socket/etcd.sock',
    '--listen-peer-urls=https://192.0.2.9:9446',
    '--initial-cluster=a=https://a:9446,w=https://192.0.2.9:9446',
    '--initial-cluster-state=existing',
    '--peer-client-cert-auth=true',
    '--peer-crl-file=/state/cluster/peer-revoked.crl',
  ])
    t.ok(args.includes(wanted), wanted)
  t.notMatch(args.join(' '), /--(cert-file|key-file|trusted-ca-file)|9445/)
  t.end()
})
