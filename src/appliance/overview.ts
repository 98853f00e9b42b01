import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { KeptAnswer } from '../base/kept-answer.ts'
import { VERSION } from '../base/version.ts'
import type { ClusterState } from '../context/cluster.ts'
import type { Noted, OverviewReader } from '../context/overview.ts'
import type { Attention, Overview } from '../model/overview.ts'
import { quietUntil_ms } from '../rules/acme.ts'
import { endOf } from '../rules/certificate-end.ts'
import { PlacedObjects } from '../stats/placed-objects.ts'
import type { HaproxyFigures } from '../metrics/node-samples.ts'
import { type Summary, summarizeLayer4, summarizeLayer7 } from '../stats/summary.ts'
import { haproxyFigures } from './metrics.ts'
import type { Node } from './node.ts'

/** An answer is kept for this time, however many clients open the first screen. */
const KEPT_MS = 1_000
const DAY_MS = 86_400_000
const CERTIFICATE_DAYS = 30
/** A failed job is shown for this time. */
const JOB_MS = DAY_MS
const DISK_SHARE = 0.1

type Looked = Awaited<ReturnType<OverviewReader['look']>>
type Disk = Overview['disk']

/** Creates the reader of this node's data for the first screen; no program runs for it. */
export function createOverview(node: Node, cluster: () => Promise<ClusterState | undefined>): OverviewReader {
  const { clock, names } = node
  const placed = { layer7: new PlacedObjects(names.layer7), layer4: new PlacedObjects(names.layer4) }
  const kept = new KeptAnswer({ ask: () => look(node, cluster, placed), kept_ms: KEPT_MS, clock })
  return {
    look: async () => {
      const { noted, ...looked } = await kept.get()
      // The caller has just applied or staged something.
      return { ...looked, noted: criticalFirst([...ofApply(node), ...noted, ...ofPending(node)]) }
    },
  }
}

async function look(
  node: Node,
  askCluster: () => Promise<ClusterState | undefined>,
  placed: Readonly<Record<'layer7' | 'layer4', PlacedObjects>>,
): Promise<Looked> {
  const { layer7, layer4, nodeId, clock, stateFolder } = node
  const [seven, four, cluster, disk] = await Promise.all([
    summarizeLayer7(layer7.live, placed.layer7),
    summarizeLayer4(layer4.live, placed.layer4),
    askCluster(),
    diskOf(stateFolder),
  ])
  const { up, since_ms } = layer7.state()
  const haproxy = haproxyFigures(node)
  const noted = [
    ...ofHaproxy(node, haproxy),
    ...ofDirector(node),
    ...ofLayer(seven, 'l7Backends'),
    ...ofLayer(four, 'l4Backends'),
    ...ofCluster(node, cluster),
    ...ofKept(node, disk),
    ...ofCertificates(node),
    ...ofJobs(node),
  ]
  return {
    time: new Date(clock.now_ms()).toISOString(),
    nodeId,
    version: VERSION,
    haproxy: { answers: up, since: new Date(since_ms).toISOString(), version: haproxy.version ?? null },
    layer7: seven.layer,
    layer4: four.layer,
    disk,
    nodes: nodesOf(node, cluster),
    quorum: cluster?.quorum ?? null,
    noted,
  }
}

const criticalFirst = (all: readonly Noted[]): readonly Noted[] =>
  all.toSorted((a, b) => Number(b.severity === 'critical') - Number(a.severity === 'critical'))

async function diskOf(folder: string): Promise<Disk> {
  try {
    const { blocks, bavail, bsize } = await statfs(folder)
    return { size: blocks * bsize, available: bavail * bsize }
  } catch {
    return null
  }
}

function nodesOf({ nodeId, membership }: Node, cluster: ClusterState | undefined): Overview['nodes'] {
  if (cluster !== undefined)
    return cluster.nodes.map(({ id, name, isSelf, state, isLeader, maintenance, version }) => ({
      id,
      name,
      isSelf,
      state,
      isLeader,
      inMaintenance: maintenance !== undefined,
      version,
    }))
  const isAlone = membership.cluster === undefined
  const self = { id: nodeId, name: membership.members.get(nodeId)?.name ?? hostname(), isSelf: true, version: VERSION }
  return [{ ...self, state: 'online', isLeader: isAlone, inMaintenance: false }]
}

const NOTHING = { resource: '', resourceId: '', name: '' } as const
const note = (
  kind: Attention['kind'],
  severity: Attention['severity'],
  message: string,
  more: Partial<Noted> = {},
): Noted => ({ kind, severity, message, ...NOTHING, ...more })

function ofHaproxy({ layer7 }: Node, { isUp }: HaproxyFigures): readonly Noted[] {
  const { reason } = layer7.state()
  return isUp === false ? [note('haproxy', 'critical', `HAProxy does not answer: ${reason ?? 'unknown reason'}`)] : []
}

/** Returns the faults of Layer 4; in trial the kernel balances nothing. */
function ofDirector({ layer4, settings }: Node): readonly Noted[] {
  const fault = settings.profile === 'trial' ? undefined : layer4.fault()
  return fault === undefined ? [] : [note('layer4', 'critical', fault)]
}

function ofLayer({ down }: Summary, resource: string): readonly Noted[] {
  return down.map(({ kind, id, name, backendName }) =>
    kind === 'backend'
      ? note('backendDown', 'critical', `No server of ${name} accepts traffic`, { resource, resourceId: id, name })
      : note('serverDown', 'warning', `${name} of ${backendName ?? ''} is down`, {
          resource: 'realServers',
          resourceId: id,
          name,
        }),
  )
}

function ofApply({ engine, membership }: Node): readonly Noted[] {
  const { state, by, secondsLeft } = engine.state
  if (state !== 'waiting') return []
  const lacks = membership.cluster?.hasQuorum === false ? ', which completes when enough nodes answer' : ''
  const becomes =
    secondsLeft === 0
      ? `was not confirmed in time and is being reverted${lacks}`
      : `is reverted in ${secondsLeft ?? 0} s unless it is confirmed`
  const message = `The apply of ${by ?? 'somebody'} ${becomes}`
  return [note('apply', 'critical', message, { right: 'services.applyState' })]
}

function ofPending({ store }: Node): readonly Noted[] {
  const { changeCount: count } = store
  if (count === 0) return []
  const message = `${count} ${count === 1 ? 'change waits' : 'changes wait'} for an apply`
  return [note('pending', 'warning', message, { right: 'services.pending' })]
}

function ofCluster({ membership }: Node, cluster: ClusterState | undefined): readonly Noted[] {
  const right = 'cluster.show'
  if (membership.cluster === undefined) return []
  if (cluster === undefined) return [note('cluster', 'critical', 'The state of the cluster is unknown', { right })]
  const { halted, histories, nodes, quorum } = cluster
  const away = nodes.filter(({ state, maintenance }) => state === 'unreachable' && maintenance === undefined)
  return [
    ...(quorum ? [] : [note('cluster', 'critical', 'No changes are possible: too few nodes answer', { right })]),
    ...(halted === undefined
      ? []
      : [note('cluster', 'critical', `This node no longer follows the cluster: ${halted}`, { right })]),
    ...(histories === undefined
      ? []
      : [note('cluster', 'critical', 'Both nodes have taken over: choose whose history to keep', { right })]),
    ...away.map(({ id, name }) =>
      note('cluster', 'warning', `${name} does not answer`, { resource: 'nodes', resourceId: id, name, right }),
    ),
  ]
}

function ofKept({ layer7, layer4, store: { failure } }: Node, disk: Disk): readonly Noted[] {
  if (failure !== undefined)
    return [note('disk', 'critical', `No changes are possible: ${failure}; the daemon restarts when the disk works`)]
  const faults = [layer7, layer4].flatMap(({ kept: { storage } }) => (storage === undefined ? [] : [storage]))
  const statistics = faults.map(({ reason, isStoring }) =>
    note('statistics', isStoring ? 'warning' : 'critical', `Statistics are stored incompletely: ${reason}`),
  )
  if (disk === null || disk.available >= DISK_SHARE * disk.size) return statistics
  const share = Math.floor((100 * disk.available) / disk.size)
  return [...statistics, note('disk', share < 2 ? 'critical' : 'warning', `${share} % of the disk is left`)]
}

/** Returns expiring certificates, except those that an order renews in time. */
function ofCertificates({ running, clock }: Node): readonly Noted[] {
  const now_ms = clock.now_ms()
  return [...running.list('certificates')].flatMap((certificate) => {
    const left_ms = endOf(certificate).getTime() - now_ms
    const isQuiet = (quietUntil_ms(running, certificate) ?? 0) > now_ms
    if (left_ms > CERTIFICATE_DAYS * DAY_MS || isQuiet) return []
    const { id: resourceId, name } = certificate
    const days = Math.floor(left_ms / DAY_MS)
    const message = left_ms <= 0 ? `${name} has expired` : `${name} expires in ${days} ${days === 1 ? 'day' : 'days'}`
    const about = { resource: 'certificates', resourceId, name, right: 'certificates.list' }
    return [note('certificate', days < 1 ? 'critical' : 'warning', message, about)]
  })
}

function ofJobs({ jobs, clock }: Node): readonly Noted[] {
  return jobs.list().flatMap(({ id, title, state, endedAt }) => {
    const isNews = endedAt !== null && clock.now_ms() - Date.parse(endedAt) < JOB_MS
    if (state !== 'failed' || !isNews) return []
    return [
      note('job', 'warning', `${title} has failed`, {
        resource: 'jobs',
        resourceId: id,
        name: title,
        right: 'jobs.list',
      }),
    ]
  })
}
