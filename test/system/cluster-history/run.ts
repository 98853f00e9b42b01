import type { Test } from 'tap'
import { GUARD } from '../../../src/cluster/places.ts'
import type { EtcdClient } from '../../../src/etcd/client.ts'
import { HISTORY, LogCluster } from '../../fixtures/cluster.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { EtcdCluster, unlessRefused } from '../../fixtures/etcd.ts'
import { until } from '../../fixtures/until.ts'
import { etcdPrograms } from '../../fixtures/etcd-programs.ts'
import { seededRandom } from '../../storage/archive/reference-model.ts'
import { logViolations, type Operation, storeViolations } from './checker.ts'
import { Collector } from './collector.ts'
import { Faults } from './faults.ts'
import type { NodeShown } from './lines.ts'
import { NodeProcess } from './node-process.ts'

const programs = await etcdPrograms()
export const skip = typeof programs === 'string' ? programs : false

const NODES = 3
/** So few that checkpoints are made constantly, and a node that was away finds its place in the log deleted. */
const CHECKPOINT_EVERY = 25
/** Slow machines continue until this many operations were answered. */
const ANSWERED_MIN = 100
const FAULTS_MIN = 12
const TOLD_MAX = 20

interface World {
  readonly cluster: LogCluster
  readonly etcd: EtcdClient
  readonly nodes: readonly NodeProcess[]
  readonly collector: Collector
}

async function started(test: Test, seed: number, isUnguarded: boolean): Promise<World> {
  if (typeof programs === 'string') throw new Error(programs)
  const cluster = await LogCluster.form(test, await EtcdCluster.start(test, programs, NODES))
  const { members, credentials } = cluster.etcd
  const { ca, certificate, key } = credentials
  const nodes = members.map((_, index) => {
    const id = `node-${index + 1}`
    const urls = members.map(({ url }) => url)
    const settings = {
      id,
      // Processes are killed, not the machine: nothing has to reach a disk.
      folder: temporaryFolder(test, id),
      clusterId: cluster.keys.clusterId,
      history: HISTORY,
      key: cluster.key,
      gateways: [...urls.slice(index), ...urls.slice(0, index)],
      credentials: { ca: String(ca), certificate: String(certificate), key: String(key) },
      checkpointEvery: CHECKPOINT_EVERY,
      isUnguarded,
    }
    return new NodeProcess(settings, seed * 1_000_000 + index * 100_000)
  })
  const etcd = cluster.etcd.client(0, { timeout_ms: 5_000 })
  const collector = new Collector(etcd, cluster.keys)
  test.teardown(async () => {
    await Promise.all(nodes.map((node) => node.kill()))
    await collector.close()
  })
  await Promise.all(nodes.map((node) => node.start()))
  return { cluster, etcd, nodes, collector }
}

const operationsOf = (nodes: readonly NodeProcess[]): readonly Operation[] =>
  nodes.flatMap(({ operations }) => [...operations.values()])

const answeredBy = (nodes: readonly NodeProcess[]) => nodes.reduce((sum, { answered }) => sum + answered, 0)

/** Number of the last entry in etcd. */
async function lastOf(etcd: EtcdClient): Promise<number> {
  const kvs = await until('etcd answers', async () => (await unlessRefused(etcd.range({ key: GUARD })))?.kvs)
  return Number(
    Buffer.from(kvs[0]?.value ?? '')
      .toString()
      .split(' ')[1],
  )
}

/** Resolves when all nodes have the whole log. The last edit may have been followed by a checkpoint and its entry. */
async function caughtUp({ etcd, nodes, collector }: World): Promise<ReadonlyMap<string, NodeShown>> {
  return await until('all nodes have caught up', async () => {
    const last = await lastOf(etcd)
    const shown: [string, NodeShown][] = []
    for (const node of nodes) shown.push([node.id, await node.show()])
    const isHalted = shown.some(([, { halted }]) => halted !== '')
    const isThere = shown.every(([, { position }]) => position === last) && collector.position === last
    return isHalted || (isThere && (await lastOf(etcd)) === last) ? new Map(shown) : undefined
  })
}

function tell(test: Test, { nodes, collector }: World, faults: ReadonlyMap<string, number>): void {
  const operations = operationsOf(nodes)
  const count = (outcome: Operation['outcome']) => operations.filter((one) => one.outcome === outcome).length
  const outcomes = (['answered', 'refused', 'unknown', 'broken', undefined] as const).map(
    (outcome) => `${count(outcome)} ${outcome ?? 'cut off'}`,
  )
  test.comment(`${operations.length} operations: ${outcomes.join(', ')}; ${collector.found.length} entries`)
  const takeovers = nodes.reduce((sum, node) => sum + node.takeovers, 0)
  test.comment(`a store was taken over from a checkpoint ${takeovers} times`)
  if (faults.size > 0) test.comment([...faults].map(([what, times]) => `${what}: ${times}`).join(', '))
}

/** Edits on all nodes concurrently while nodes and members come and go; then every answer has to be true. */
export async function liveThroughFaults(test: Test, seed: number, seconds: number): Promise<void> {
  test.comment(`FULCRUM_TEST_HISTORY_SEED=${seed}, ${seconds} seconds of faults`)
  const world = await started(test, seed, false)
  const { cluster, etcd, nodes, collector } = world
  await Promise.all(nodes.map((node) => node.ready()))
  const end_ms = performance.now() + seconds * 1000
  const crashes = () => nodes.flatMap((node) => node.crashes)
  const isOver = () =>
    crashes().length > 0 ||
    (performance.now() > end_ms && answeredBy(nodes) >= ANSWERED_MIN && faults.total >= FAULTS_MIN)
  const faults = new Faults(seededRandom(seed), isOver)
  await Promise.all([faults.ofNodes(nodes), faults.ofMembers(cluster.etcd), faults.ofHistory(etcd, collector)])
  test.same(crashes(), [], 'no node ended unexpectedly')
  await Promise.all(nodes.map((node) => node.ready()))
  await Promise.all(nodes.map((node) => node.rest()))
  const stores = await caughtUp(world)
  tell(test, world, faults.counts)
  const { found } = collector
  const violations = [...logViolations(operationsOf(nodes), found), ...storeViolations(found, stores)]
  test.same(violations.slice(0, TOLD_MAX), [], 'the answers, the log and the stores agree')
  if (violations.length > 0) for (const { id, log } of nodes) test.comment(`${id}: ${log}`)
}

/**
 * The same without the guard and without faults, which must fail: resolves with the violations in the log when an entry
 * was overwritten. Nodes that notice it stop, or never begin, so the test waits for nothing more.
 */
export async function liveWithoutGuard(test: Test, seed: number): Promise<readonly string[]> {
  const world = await started(test, seed, true)
  const { nodes, collector } = world
  const violations = await until('an entry is written over', () => {
    const found = logViolations(operationsOf(nodes), collector.found)
    return found.some((one) => one.includes('was written behind entry')) ? found : undefined
  })
  tell(test, world, new Map())
  return violations
}
