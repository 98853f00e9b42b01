import { counter, type Family, gauge, info } from '../exposition/family.ts'
import { INTERFACE_FIGURES } from './machine-figures.ts'

const IN_CLUSTER = ['node_id', 'node'] as const

/** Metrics of the node, of what runs on it, and of its cluster. */
export const NODE = {
  node: info('node', 'Answering node, and its version of Fulcrum.', ['node_id', 'node', 'version']),
  uptime: gauge('node_uptime_seconds', 'Time since the start of the machine.'),
  load: gauge('node_load', 'Average number of processes that run or wait for a CPU or a disk.', ['minutes']),
  cpu: counter('node_cpu_seconds', 'Time of all CPUs, by mode.', ['mode']),
  memorySize: gauge('node_memory_size_bytes', 'Total memory of the machine.'),
  memoryAvailable: gauge('node_memory_available_bytes', 'Memory still available to programs.'),
  diskSize: gauge('node_filesystem_size_bytes', 'Size of the file system of the state folder.'),
  diskAvailable: gauge('node_filesystem_available_bytes', 'Available space on the file system of the state folder.'),
  started: gauge('daemon_start_timestamp_seconds', 'When the daemon was started, in Unix seconds.'),
  daemonCpu: counter('daemon_cpu_seconds', 'CPU time of the daemon.'),
  daemonMemory: gauge('daemon_resident_memory_bytes', 'Resident memory of the daemon.'),
  haproxyUp: gauge(
    'haproxy_up',
    'Whether HAProxy answered the last query; absent while HAProxy does not run and no frontend needs it.',
  ),
  haproxy: info('haproxy', 'Running HAProxy.', ['version']),
  haproxyUptime: gauge(
    'haproxy_uptime_seconds',
    'Time since the start of the current process, by a start or a reload.',
  ),
  reloads: counter('haproxy_reloads', 'Reloads since the start of HAProxy.'),
  failedReloads: gauge('haproxy_failed_reloads', 'Failed reloads since the last successful one.'),
  oldWorkers: gauge('haproxy_old_workers', 'Old processes from before a reload that still serve connections.'),
  archiveLag: gauge('archive_lag_seconds', 'Time since the last second that is on disk.', ['layer']),
  archiveStoring: gauge('archive_storing', 'Whether the archive can be written.', ['layer']),
  archiveLosses: counter('archive_losses', 'Number of losses of seconds that had already been returned in answers.', [
    'layer',
  ]),
  archiveSize: gauge('archive_size_bytes', 'Size of the archive files.', ['layer']),
  logLines: counter('access_log_lines', 'Stored log lines.'),
  logSize: gauge('access_log_size_bytes', 'Size of the stored log lines.'),
  logDropped: counter('access_log_dropped_lines', 'Lines that did not reach their destination.', ['reason']),
  revision: gauge('revision', 'Number of the running configuration.'),
  lastApply: gauge('last_apply_timestamp_seconds', 'When the last apply began, in Unix seconds.'),
  applying: gauge('apply_in_progress', 'Whether an apply is running.'),
  waiting: gauge('apply_waiting', 'Whether an apply waits for its confirmation.'),
  secondsLeft: gauge('apply_confirmation_left_seconds', 'Seconds until the waiting apply is reverted.'),
  pending: gauge('pending_changes', 'Saved changes that are not applied yet.'),
  certificateEnd: gauge('certificate_not_after_timestamp_seconds', 'When the certificate expires, in Unix seconds.', [
    'certificate_id',
    'certificate',
  ]),
  jobs: gauge('jobs', 'Stored jobs, by state.', ['state']),
  jobEnd: gauge('job_last_end_timestamp_seconds', 'When the last job of a kind ended in a state, in Unix seconds.', [
    'kind',
    'state',
  ]),
  floatingIp: gauge('floating_ip_held', 'Whether this node holds the address; absent in trial.', [
    'floating_ip_id',
    'ip',
  ]),
  cluster: info('cluster', 'Cluster of the node.', ['cluster_id', 'cluster']),
  quorum: gauge('cluster_quorum', 'Whether changes can be made.'),
  spareVotes: gauge('cluster_spare_votes', 'Number of votes that may be lost before changes become impossible.'),
  sequence: gauge('cluster_log_sequence', 'Number of the last entry of the shared log that this node has applied.'),
  nodeOnline: gauge(
    'cluster_node_online',
    'Whether this node can reach the node; absent shortly after a start.',
    IN_CLUSTER,
  ),
  nodeLeads: gauge('cluster_node_leads', 'Whether the node leads the shared log.', IN_CLUSTER),
  nodeMaintenance: gauge('cluster_node_maintenance', 'Whether the node is in maintenance.', IN_CLUSTER),
  nodeAhead: gauge(
    'cluster_node_ahead_records',
    'Records of which the node runs another version than the agreed one.',
    IN_CLUSTER,
  ),
  nodeCertificateEnd: gauge(
    'cluster_certificate_not_after_timestamp_seconds',
    'End of the first certificate of the node to expire, in Unix seconds.',
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
