import { readdir, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KeptAnswer } from '../base/kept-answer.ts'
import { VERSION } from '../base/version.ts'
import type { ClusterState } from '../context/cluster.ts'
import { infoField, parseShowProc } from '../drivers/haproxy/cli.ts'
import { chosenCertificate } from '../listeners/lent-certificate.ts'
import { apiCertificate } from '../listeners/own-certificate.ts'
import type { AddressesParts } from '../membership/addresses.ts'
import { readMachine } from '../metrics/machine-figures.ts'
import { Metrics } from '../metrics/metrics.ts'
import type { ArchiveFigures, HaproxyFigures, NodeFigures } from '../metrics/node-samples.ts'
import { endOf } from '../rules/certificate-end.ts'
import type { ArchiveSide } from '../stats/archive-side.ts'
import type { Node } from './node.ts'

/** Refresh interval for figures that change slowly and are slow to read. */
const SLOW_MS = 60_000
/** The maximum wait of a scrape for etcd; after it the last state is used, as long as that is fresh. */
const CLUSTER_WAIT_MS = 250
const CLUSTER_FRESH_MS = 15_000

/** Creates the figures of this node for monitoring systems; no program runs for a scrape. */
export function createMetrics(
  node: Node,
  here: AddressesParts['here'],
  cluster: () => Promise<ClusterState | undefined>,
): Metrics {
  const { layer7, layer4, names, clock, machine } = node
  const slow = new KeptAnswer({ ask: () => readSlow(node), kept_ms: SLOW_MS, clock })
  return new Metrics({
    layer7: { live: layer7.live, names: names.layer7 },
    layer4: { live: layer4.live, names: names.layer4 },
    node: async () => nodeFigures(node, here, await slow.get(), await cluster()),
    pool: machine.exposition,
    clock,
  })
}

interface Slow {
  readonly archive7_bytes: number | undefined
  readonly archive4_bytes: number | undefined
  readonly api: readonly { readonly name: string; readonly notAfter: Date }[]
}

async function readSlow({ layer7, layer4, stateFolder }: Node): Promise<Slow> {
  const [archive7_bytes, archive4_bytes] = await Promise.all([
    sizeOf(layer7.archive.directory),
    sizeOf(layer4.archive.directory),
  ])
  return { archive7_bytes, archive4_bytes, api: apiCertificate(join(stateFolder, 'tls')) }
}

/** Returns the disk usage of a folder's files. */
async function sizeOf(folder: string): Promise<number | undefined> {
  try {
    const files = await readdir(folder)
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).blocks * 512))
    return sizes.reduce((sum, size) => sum + size, 0)
  } catch {
    return undefined
  }
}

async function nodeFigures(
  node: Node,
  here: AddressesParts['here'],
  slow: Slow,
  cluster: ClusterState | undefined,
): Promise<NodeFigures> {
  const { accessLogs, engine, jobs, membership, nodeId, running, stateFolder, store } = node
  const { system, user } = process.cpuUsage()
  const { counts } = accessLogs
  const addresses = here.tells()
  const held = new Set(addresses.held.map(({ ip }) => ip))
  // In trial the network is only recorded, and nobody looks at the machine's addresses.
  const areKnown = addresses.isReady !== null
  const isOwn = chosenCertificate(running, nodeId) === undefined
  return {
    nodeId,
    name: membership.members.get(nodeId)?.name ?? hostname(),
    version: VERSION,
    machine: await readMachine(stateFolder),
    daemon: {
      startedAt_s: performance.timeOrigin / 1_000,
      cpu_s: (system + user) / 1e6,
      resident_bytes: process.memoryUsage.rss(),
    },
    haproxy: haproxyFigures(node),
    archives: archivesOf(node, slow),
    accessLogs: counts && { lines: counts.lines, size_bytes: counts.bytes, dropped: { ...counts.losses } },
    apply: engine.state,
    pending: store.changeCount,
    certificates: [
      ...Array.from(running.list('certificates'), (one) => ({ id: one.id, name: one.name, end: endOf(one) })),
      ...(isOwn ? slow.api.map(({ name, notAfter }) => ({ id: '', name, end: notAfter })) : []),
    ],
    jobs: jobs.list(),
    cluster,
    floatingIps: [...running.list('floatingIps')]
      .filter(({ enabled }) => enabled && areKnown)
      .map(({ id, ip }) => ({ id, ip, isHeld: held.has(ip) })),
  }
}

/**
 * Returns the figures of HAProxy's processes: its answer begins with them, from its master or from the process itself.
 */
export function haproxyFigures(node: Node): HaproxyFigures {
  const { layer7 } = node
  const { bytes } = layer7.live
  const text = bytes === undefined ? '' : Buffer.from(bytes.csv.subarray(0, bytes.rows[0])).toString()
  const shown = parseShowProc(text)
  const [worker] = shown?.workers ?? []
  const number = (name: string) => Number(infoField(text, name) ?? Number.NaN)
  const uptime_s = worker?.uptime_s ?? number('Uptime_sec')
  const isUp = layer7.state().up
  return {
    isUp: isUp || needsHaproxy(node) ? isUp : undefined,
    version: worker?.version ?? infoField(text, 'Version'),
    uptime_s: Number.isNaN(uptime_s) ? undefined : uptime_s,
    reloads: shown?.master.reloads,
    failedReloads: shown?.master.failed,
    oldWorkers: shown?.oldWorkers.length,
  }
}

const needsHaproxy = ({ running, observed }: Node): boolean =>
  observed !== undefined || [...running.list('l7Frontends')].some(({ enabled }) => enabled)

function archivesOf({ layer7, layer4, clock, running }: Node, slow: Slow): readonly ArchiveFigures[] {
  const of = (layer: '4' | '7', side: Pick<ArchiveSide<unknown, unknown>, 'kept'>, size_bytes: number | undefined) => {
    const { stored_s, losses, storage } = side.kept
    const lag_s = stored_s === 0 ? undefined : Math.max(0, clock.now_ms() / 1_000 - stored_s)
    return { layer, lag_s, isStoring: storage?.isStoring ?? true, losses, size_bytes }
  }
  const seven = of('7', layer7, slow.archive7_bytes)
  // Without frontends of Layer 4 nothing is stored.
  const hasLayer4 = [...running.list('l4Frontends')].length > 0
  return hasLayer4 ? [seven, of('4', layer4, slow.archive4_bytes)] : [seven]
}

/** Returns a reader of the cluster's state, which asks etcd: while that takes long, it returns the last state. */
export function clusterOf({ membership, clock }: Node): () => Promise<ClusterState | undefined> {
  let last: { readonly state: ClusterState | undefined; readonly at_ms: number } | undefined
  let asking: Promise<void> | undefined
  return async () => {
    if (membership.cluster === undefined) return undefined
    asking ??= membership
      .state()
      .then((state) => void (last = { state, at_ms: clock.monotonic_ms() }))
      .catch(() => undefined)
      .finally(() => (asking = undefined))
    await Promise.race([asking, sleep(CLUSTER_WAIT_MS, undefined, { ref: false })])
    if (last === undefined || clock.monotonic_ms() - last.at_ms > CLUSTER_FRESH_MS) return undefined
    return last.state
  }
}
