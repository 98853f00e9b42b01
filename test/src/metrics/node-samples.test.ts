import t from 'tap'
import type { ClusterState } from '../../../src/context/cluster.ts'
import { Exposition } from '../../../src/exposition/exposition.ts'
import { type NodeFigures, writeNode } from '../../../src/metrics/node-samples.ts'

const FIGURES: NodeFigures = {
  nodeId: 'n1',
  name: 'lb "1"',
  version: '1.2',
  machine: {
    uptime_s: 60,
    load: [1, 2, 3],
    cpu_s: new Map([['user', 1.5]]),
    memory: undefined,
    disk: { size_bytes: 100, available_bytes: 10 },
    interfaces: [{ name: 'eth0', values: [1, 2, 3, 4, 5, 6, 7, 8] }],
  },
  daemon: { startedAt_s: 1, cpu_s: 2, resident_bytes: 3 },
  haproxy: {
    isUp: false,
    version: undefined,
    uptime_s: undefined,
    reloads: 7,
    failedReloads: 0,
    oldWorkers: undefined,
  },
  archives: [{ layer: '7', lag_s: 0.5, isStoring: true, losses: 0, size_bytes: undefined }],
  accessLogs: { lines: 5, size_bytes: 6, dropped: { lost: 1, unreadable: 0 } },
  apply: { state: 'waiting', revision: 9, startedAt: '2026-01-01T00:00:00.000Z', secondsLeft: 30 },
  pending: 2,
  certificates: [{ id: 'c', name: 'shop', end: new Date(5_000) }],
  jobs: [
    { kind: 'update', state: 'failed', endedAt: '1970-01-01T00:00:09.000Z' },
    { kind: 'update', state: 'failed', endedAt: '1970-01-01T00:00:03.000Z' },
    { kind: 'drain', state: 'running', endedAt: null },
  ],
  cluster: undefined,
  floatingIps: [{ id: 'f', ip: '192.0.2.9', isHeld: true }],
}

function lines(figures: NodeFigures): ReadonlySet<string> {
  const out = new Exposition('prometheus')
  writeNode(out, figures)
  return new Set(out.end().toString().split('\n'))
}

t.test('of a single node', async (test) => {
  const told = lines(FIGURES)
  for (const line of [
    String.raw`fulcrum_node_info{node_id="n1",node="lb \"1\"",version="1.2"} 1`,
    'fulcrum_node_load{minutes="15"} 3',
    'fulcrum_node_cpu_seconds_total{mode="user"} 1.5',
    'fulcrum_node_filesystem_available_bytes 10',
    'fulcrum_node_interface_sent_drops_total{interface="eth0"} 8',
    'fulcrum_haproxy_up 0',
    'fulcrum_haproxy_reloads_total 7',
    'fulcrum_archive_lag_seconds{layer="7"} 0.5',
    'fulcrum_access_log_lines_total 5',
    'fulcrum_access_log_dropped_lines_total{reason="lost"} 1',
    'fulcrum_revision 9',
    'fulcrum_last_apply_timestamp_seconds 1767225600',
    'fulcrum_apply_waiting 1',
    'fulcrum_apply_confirmation_left_seconds 30',
    'fulcrum_pending_changes 2',
    'fulcrum_certificate_not_after_timestamp_seconds{certificate_id="c",certificate="shop"} 5',
    'fulcrum_jobs{state="failed"} 2',
    'fulcrum_jobs{state="cancelled"} 0',
    'fulcrum_job_last_end_timestamp_seconds{kind="update",state="failed"} 9',
    'fulcrum_floating_ip_held{floating_ip_id="f",ip="192.0.2.9"} 1',
  ])
    test.ok(told.has(line), line)
  const text = [...told].join('\n')
  test.notMatch(text, /fulcrum_(haproxy_info|haproxy_old|node_memory|archive_size|cluster)/, 'unknown values')
})

t.test('of a node in a cluster', async (test) => {
  const node = {
    id: 'n1',
    name: 'one',
    address: '',
    isSelf: true,
    state: 'online',
    isVoter: true,
    isLeader: true,
    ahead: 3,
    maintenance: { since: '', by: '' },
    certificateEnd: '1970-01-01T00:00:07.000Z',
    version: '1',
    since: '',
  } as const
  const other = {
    ...node,
    id: 'n2',
    name: 'two',
    state: 'unreachable',
    isLeader: false,
    maintenance: undefined,
  } as const
  const cluster: ClusterState = {
    id: 'c',
    name: 'site',
    epoch: 1,
    preferredNode: undefined,
    takeoverAfter: undefined,
    histories: undefined,
    quorum: true,
    sequence: 12,
    halted: undefined,
    removedAt: undefined,
    nodes: [node, other],
    witness: { ...node, id: 'w', name: 'third', state: 'unknown', isLeader: false },
    spareVotes: 1,
  }
  const told = lines({ ...FIGURES, cluster })
  for (const line of [
    'fulcrum_cluster_info{cluster_id="c",cluster="site"} 1',
    'fulcrum_cluster_quorum 1',
    'fulcrum_cluster_spare_votes 1',
    'fulcrum_cluster_log_sequence 12',
    'fulcrum_cluster_node_online{node_id="n1",node="one"} 1',
    'fulcrum_cluster_node_online{node_id="n2",node="two"} 0',
    'fulcrum_cluster_node_leads{node_id="n1",node="one"} 1',
    'fulcrum_cluster_node_leads{node_id="w",node="third"} 0',
    'fulcrum_cluster_node_maintenance{node_id="n1",node="one"} 1',
    'fulcrum_cluster_node_ahead_records{node_id="n2",node="two"} 3',
    'fulcrum_cluster_certificate_not_after_timestamp_seconds{node_id="w",node="third"} 7',
  ])
    test.ok(told.has(line), line)
  test.notOk(
    [...told].some((line) => line.startsWith('fulcrum_cluster_node_online{node_id="w"')),
    'still unknown',
  )
})
