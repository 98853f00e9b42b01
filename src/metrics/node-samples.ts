import type { ApplyState } from '../context/applying.ts'
import type { ClusterState } from '../context/cluster.ts'
import type { Job } from '../model/job.ts'
import type { Exposition } from '../exposition/exposition.ts'
import type { MachineFigures } from './machine-figures.ts'
import { INTERFACES, NODE } from './node-families.ts'

/** All figures of a node except those of its two layers. */
export interface NodeFigures {
  readonly nodeId: string
  readonly name: string
  readonly version: string
  readonly machine: MachineFigures
  readonly daemon: { readonly startedAt_s: number; readonly cpu_s: number; readonly resident_bytes: number }
  readonly haproxy: HaproxyFigures
  readonly archives: readonly ArchiveFigures[]
  /** Undefined if access logs are not read. */
  readonly accessLogs: AccessLogFigures | undefined
  readonly apply: Pick<ApplyState, 'state' | 'revision' | 'startedAt' | 'secondsLeft'>
  readonly pending: number
  readonly certificates: readonly { readonly id: string; readonly name: string; readonly end: Date }[]
  readonly jobs: readonly Pick<Job, 'kind' | 'state' | 'endedAt'>[]
  /** Undefined if the node is in no cluster, or its state is unknown. */
  readonly cluster: ClusterState | undefined
  /** Floating IPs that can move, and whether this node holds them. */
  readonly floatingIps: readonly { readonly id: string; readonly ip: string; readonly isHeld: boolean }[]
}

export interface HaproxyFigures {
  /** Undefined if it does not run and nothing is configured for it. */
  readonly isUp: boolean | undefined
  readonly version: string | undefined
  /** Age of the current worker. */
  readonly uptime_s: number | undefined
  readonly reloads: number | undefined
  readonly failedReloads: number | undefined
  /** Workers that only serve their open connections. */
  readonly oldWorkers: number | undefined
}

export interface ArchiveFigures {
  readonly layer: '4' | '7'
  /** Age of the last second that is on the disk. */
  readonly lag_s: number | undefined
  readonly isStoring: boolean
  readonly losses: number
  readonly size_bytes: number | undefined
}

export interface AccessLogFigures {
  readonly lines: number
  readonly size_bytes: number
  /** Dropped messages by reason. */
  readonly dropped: Readonly<Record<string, number>>
}

export function writeNode(out: Exposition, figures: NodeFigures): void {
  const { machine, daemon } = figures
  const one = oneOf(out)
  one(NODE.node, 1, [figures.nodeId, figures.name, figures.version])
  one(NODE.uptime, machine.uptime_s)
  out.begin(NODE.load)
  for (const [at, minutes] of ['1', '5', '15'].entries()) out.sample([minutes], machine.load[at] ?? 0)
  out.begin(NODE.cpu)
  for (const [mode, seconds] of machine.cpu_s) out.sample([mode], seconds)
  one(NODE.memorySize, machine.memory?.size_bytes)
  one(NODE.memoryAvailable, machine.memory?.available_bytes)
  one(NODE.diskSize, machine.disk?.size_bytes)
  one(NODE.diskAvailable, machine.disk?.available_bytes)
  for (const [at, family] of INTERFACES.entries()) {
    out.begin(family)
    for (const { name, values } of machine.interfaces) out.sample([name], values[at] ?? 0)
  }
  one(NODE.started, daemon.startedAt_s)
  one(NODE.daemonCpu, daemon.cpu_s)
  one(NODE.daemonMemory, daemon.resident_bytes)
  writeHaproxy(out, figures.haproxy)
  writeKept(out, figures)
  writeConfiguration(out, figures)
  writeCluster(out, figures)
}

const oneOf =
  (out: Exposition) =>
  (family: Parameters<Exposition['begin']>[0], value: number | undefined, labels: readonly string[] = []): void => {
    out.begin(family)
    if (value !== undefined && value >= 0) out.sample(labels, value)
  }

function writeHaproxy(out: Exposition, haproxy: HaproxyFigures): void {
  const one = oneOf(out)
  one(NODE.haproxyUp, haproxy.isUp === undefined ? undefined : Number(haproxy.isUp))
  one(NODE.haproxy, haproxy.version === undefined ? undefined : 1, [haproxy.version ?? ''])
  one(NODE.haproxyUptime, haproxy.uptime_s)
  one(NODE.reloads, haproxy.reloads)
  one(NODE.failedReloads, haproxy.failedReloads)
  one(NODE.oldWorkers, haproxy.oldWorkers)
}

function writeKept(out: Exposition, { archives, accessLogs }: NodeFigures): void {
  const each = (family: (typeof NODE)['archiveLag'], value: (one: ArchiveFigures) => number | undefined) => {
    out.begin(family)
    for (const archive of archives) {
      const told = value(archive)
      if (told !== undefined) out.sample([archive.layer], told)
    }
  }
  each(NODE.archiveLag, ({ lag_s }) => lag_s)
  each(NODE.archiveStoring, ({ isStoring }) => Number(isStoring))
  each(NODE.archiveLosses, ({ losses }) => losses)
  each(NODE.archiveSize, ({ size_bytes }) => size_bytes)
  if (accessLogs === undefined) return
  oneOf(out)(NODE.logLines, accessLogs.lines)
  oneOf(out)(NODE.logSize, accessLogs.size_bytes)
  out.begin(NODE.logDropped)
  for (const [reason, count] of Object.entries(accessLogs.dropped)) out.sample([reason], count)
}

const JOB_STATES: readonly Job['state'][] = ['running', 'succeeded', 'failed', 'cancelled']

function writeConfiguration(out: Exposition, { apply, pending, certificates, jobs }: NodeFigures): void {
  const one = oneOf(out)
  one(NODE.revision, apply.revision)
  one(NODE.lastApply, apply.startedAt === null ? undefined : Date.parse(apply.startedAt) / 1_000)
  one(NODE.applying, Number(apply.state === 'applying'))
  one(NODE.waiting, Number(apply.state === 'waiting'))
  one(NODE.secondsLeft, apply.secondsLeft ?? undefined)
  one(NODE.pending, pending)
  out.begin(NODE.certificateEnd)
  for (const { id, name, end } of certificates) out.sample([id, name], Math.max(0, end.getTime() / 1_000))
  out.begin(NODE.jobs)
  for (const state of JOB_STATES) out.sample([state], jobs.filter((job) => job.state === state).length)
  out.begin(NODE.jobEnd)
  for (const [key, end_ms] of lastEnds(jobs)) out.sample(key.split('\0'), end_ms / 1_000)
}

/** Returns the last end of jobs, by kind and state. */
function lastEnds(jobs: NodeFigures['jobs']): ReadonlyMap<string, number> {
  const ends = new Map<string, number>()
  for (const { kind, state, endedAt } of jobs) {
    if (endedAt === null) continue
    const key = `${kind}\0${state}`
    ends.set(key, Math.max(ends.get(key) ?? 0, Date.parse(endedAt)))
  }
  return ends
}

function writeCluster(out: Exposition, { cluster, floatingIps }: NodeFigures): void {
  out.begin(NODE.floatingIp)
  for (const { id, ip, isHeld } of floatingIps) out.sample([id, ip], Number(isHeld))
  if (cluster === undefined) return
  const one = oneOf(out)
  one(NODE.cluster, 1, [cluster.id, cluster.name])
  one(NODE.quorum, Number(cluster.quorum))
  one(NODE.spareVotes, cluster.spareVotes)
  one(NODE.sequence, cluster.sequence)
  const voters = cluster.witness === undefined ? cluster.nodes : [...cluster.nodes, cluster.witness]
  out.begin(NODE.nodeOnline)
  for (const { id, name, state } of voters) if (state !== 'unknown') out.sample([id, name], Number(state === 'online'))
  out.begin(NODE.nodeLeads)
  for (const { id, name, isLeader } of voters) out.sample([id, name], Number(isLeader))
  out.begin(NODE.nodeMaintenance)
  for (const { id, name, maintenance } of cluster.nodes) out.sample([id, name], Number(maintenance !== undefined))
  out.begin(NODE.nodeAhead)
  for (const { id, name, ahead } of cluster.nodes) out.sample([id, name], ahead)
  out.begin(NODE.nodeCertificateEnd)
  for (const { id, name, certificateEnd } of voters)
    if (certificateEnd !== undefined) out.sample([id, name], Date.parse(certificateEnd) / 1_000)
}
