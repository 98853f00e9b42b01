import { counter, type Family, gauge, info } from '../exposition/family.ts'
import { INTERFACE_FIGURES } from './machine-figures.ts'

const IN_CLUSTER = ['node_id', 'node'] as const

/** Metrics of the node, of what runs on it, and of its cluster. */
export const NODE = {
  node: info('node', 'The node that answers, and the version of Fulcrum on it.', ['node_id', 'node', 'version']),
  uptime: gauge('node_uptime_seconds', 'Since the machine was started.'),
  load: gauge('node_load', 'Average number of processes that run or wait for a processor or a disk.', ['minutes']),
  cpu: counter('node_cpu_seconds', 'Time of all processors, by what they did.', ['mode']),
  memorySize: gauge('node_memory_size_bytes', 'Memory of the machine.'),
  memoryAvailable: gauge('node_memory_available_bytes', 'Memory that programs could still get.'),
  diskSize: gauge('node_filesystem_size_bytes', 'Size of the file system that the daemon keeps everything on.'),
  diskAvailable: gauge('node_filesystem_available_bytes', 'Room that is left on it.'),
  started: gauge('daemon_start_timestamp_seconds', 'When the daemon was started, in Unix seconds.'),
  daemonCpu: counter('daemon_cpu_seconds', 'Processor time of the daemon.'),
  daemonMemory: gauge('daemon_resident_memory_bytes', 'Memory of the daemon.'),
  haproxyUp: gauge(
    'haproxy_up',
    'Whether HAProxy answered when it was last asked; absent while it is away and no frontend needs it.',
  ),
  haproxy: info('haproxy', 'The HAProxy that serves.', ['version']),
  haproxyUptime: gauge('haproxy_uptime_seconds', 'Since the process that serves was started, by a start or a reload.'),
  reloads: counter('haproxy_reloads', 'Reloads since HAProxy was started.'),
  failedReloads: gauge('haproxy_failed_reloads', 'Reloads that failed since the last one that did not.'),
  oldWorkers: gauge('haproxy_old_workers', 'Processes of before a reload that still serve connections.'),
  archiveLag: gauge('archive_lag_seconds', 'Since the last second that is on the disk.', ['layer']),
  archiveStoring: gauge('archive_storing', 'Whether the archive can be stored.', ['layer']),
  archiveLosses: counter('archive_losses', 'Times that seconds which had been answered for were lost.', ['layer']),
  archiveSize: gauge('archive_size_bytes', 'Size of its files.', ['layer']),
  logLines: counter('access_log_lines', 'Lines that were kept.'),
  logSize: gauge('access_log_size_bytes', 'Size of what is kept.'),
  logDropped: counter('access_log_dropped_lines', 'Lines that did not come to where they should.', ['reason']),
  revision: gauge('revision', 'Number of the configuration that runs.'),
  lastApply: gauge('last_apply_timestamp_seconds', 'When the last apply began, in Unix seconds.'),
  applying: gauge('apply_in_progress', 'Whether something is being applied.'),
  waiting: gauge('apply_waiting', 'Whether an apply waits for its confirmation.'),
  secondsLeft: gauge('apply_confirmation_left_seconds', 'Seconds until the waiting apply is reverted.'),
  pending: gauge('pending_changes', 'Changes that were saved and do not run yet.'),
  certificateEnd: gauge(
    'certificate_not_after_timestamp_seconds',
    'When clients begin to refuse it, in Unix seconds.',
    ['certificate_id', 'certificate'],
  ),
  jobs: gauge('jobs', 'Jobs that are kept, by their state.', ['state']),
  jobEnd: gauge('job_last_end_timestamp_seconds', 'When the last job of a kind ended in a state, in Unix seconds.', [
    'kind',
    'state',
  ]),
  floatingIp: gauge('floating_ip_held', 'Whether this node has the address.', ['floating_ip_id', 'ip']),
  cluster: info('cluster', 'The cluster that the node is in.', ['cluster_id', 'cluster']),
  quorum: gauge('cluster_quorum', 'Whether changes can be made.'),
  spareVotes: gauge('cluster_spare_votes', 'How many more votes may be lost before nothing can be changed.'),
  sequence: gauge('cluster_log_sequence', 'Number of the last entry of the shared log that this node has carried out.'),
  nodeOnline: gauge('cluster_node_online', 'Whether this node reaches it; absent shortly after a start.', IN_CLUSTER),
  nodeLeads: gauge('cluster_node_leads', 'Whether it leads the shared log.', IN_CLUSTER),
  nodeMaintenance: gauge('cluster_node_maintenance', 'Whether somebody works on it.', IN_CLUSTER),
  nodeAhead: gauge('cluster_node_ahead_records', 'Records of which it runs something else than agreed on.', IN_CLUSTER),
  nodeCertificateEnd: gauge(
    'cluster_certificate_not_after_timestamp_seconds',
    'End of the first of its certificates that ends, in Unix seconds.',
    IN_CLUSTER,
  ),
} as const satisfies Readonly<Record<string, Family>>

/** In the order of INTERFACE_FIGURES. */
export const INTERFACES: readonly Family[] = Object.keys(INTERFACE_FIGURES).map((name) =>
  counter(`node_interface_${name}`, `${name.startsWith('received') ? 'Received' : 'Sent'}, of a network interface.`, [
    'interface',
  ]),
)

export const NODE_FAMILIES: readonly Family[] = [...Object.values(NODE), ...INTERFACES]
