/**
 * Cost of a cluster of three real daemons, each with its etcd member, compared with one node in the same run.
 * Everything is on this machine: three nodes share its processors, which they would not on machines of their own.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { type ClusterDaemon, ClusterDaemons, form, join } from '../test/fixtures/cluster-daemons.ts'
import type { Daemon } from '../test/fixtures/daemon.ts'
import { etcdOf, killEtcdOf } from '../test/fixtures/etcd-programs.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { cpuOf, createReals, memoryOf } from './daemon.ts'
import { type Target, throughput, timesAt } from './load.ts'
import { median, percentile, spread, table, timed, whole } from './measure.ts'
import { scaled } from './scale.ts'

const EDITS = scaled(300, 5)
const ROUNDS = scaled(10, 1)
const RECORDS = scaled(10_000, 20)
const KILLS = scaled(5, 1)
const IDLE_MS = scaled(20_000, 500)
const POLLS_PER_SECOND = 200
const POLL_SECONDS = scaled(10, 1)
const RATE_ROUNDS = scaled(6, 1)
const RATE_SECONDS = scaled(2, 0.2)
const SEQUENCE = 'x-fulcrum-sequence'

interface Side {
  readonly title: string
  readonly node: ClusterDaemon
  readonly plainPort: number
  /** Returns the process ids of every node. */
  readonly pids: () => readonly number[]
}

const pidsOf = ({ daemon }: ClusterDaemon) => [daemon.pid, ...etcdOf(daemon.state)]

const percentiles = (times_ms: readonly number[]) =>
  `${percentile(times_ms, 0.5).toFixed(1)} / ${percentile(times_ms, 0.99).toFixed(1)}`

/** Edits one record again and again; each edit is answered once it is on the disk of a majority. */
async function edits(daemon: Daemon, ripId: string): Promise<readonly number[]> {
  const times_ms: number[] = []
  for (let n = 0; n < EDITS; n += 1)
    times_ms.push(
      await timed(() => daemon.data('PUT', `/ipvsDirector/rips/${ripId}`, { port: 8000, weight: 1 + (n % 200) })),
    )
  return times_ms
}

/** Measures the time from the answer of one node until another node answers with the change. */
async function seen(daemon: Daemon, other: Daemon, ripId: string): Promise<readonly number[]> {
  const times_ms: number[] = []
  const path = `/ipvsDirector/rips/${ripId}`
  for (let n = 0; n < EDITS; n += 1) {
    const weight = 1 + (n % 200)
    const { headers } = await daemon.call('PUT', path, { body: { port: 8000, weight } })
    const sequence = headers[SEQUENCE] ?? ''
    times_ms.push(
      await timed(async () => {
        const read = await other.call('GET', path, { headers: { [SEQUENCE]: sequence } })
        if (read.json.data.weight !== weight) throw new Error(`${weight} was not read: ${read.text}`)
      }),
    )
  }
  return times_ms
}

async function applies(daemon: Daemon, ripId: string): Promise<readonly number[]> {
  const times_ms: number[] = []
  for (let n = 0; n < ROUNDS; n += 1) {
    await daemon.data('PUT', `/ipvsDirector/rips/${ripId}`, { port: 8000, weight: 201 + (n % 50) })
    times_ms.push(await timed(() => daemon.data('PUT', '/services/apply')))
  }
  return times_ms
}

/** Kills the leading etcd member again and again; measures each time until an edit succeeds. */
async function killed(nodes: readonly ClusterDaemon[], ripId: string): Promise<readonly number[]> {
  const gaps_ms: number[] = []
  const [{ daemon }] = nodes as readonly [ClusterDaemon]
  for (let n = 0; n < KILLS; n += 1) {
    const { nodes: all } = await daemon.data('GET', '/cluster')
    const leader = all.find(({ isLeader }: { readonly isLeader: boolean }) => isLeader).id
    const led = nodes.find((node) => node.daemon.node === leader)
    killEtcdOf(led?.daemon.state ?? '')
    gaps_ms.push(
      await timed(async () => {
        let status = 0
        while (status !== 200)
          status = (await daemon.call('PUT', `/ipvsDirector/rips/${ripId}`, { body: { port: 8000, weight: 100 + n } }))
            .status
      }),
    )
    // The daemon restarts its killed member.
    await wait(scaled(5_000, 100))
  }
  return gaps_ms
}

async function idle({ pids }: Side): Promise<{ readonly share: number; readonly memory_mb: number }> {
  const used = () => pids().reduce((sum, pid) => sum + cpuOf(pid), 0)
  const before = used()
  await wait(IDLE_MS)
  const share = ((used() - before) / (IDLE_MS / 1000)) * 100
  return { share, memory_mb: pids().reduce((sum, pid) => sum + memoryOf(pid).anonymous_mb, 0) }
}

/** Returns a request over plain HTTP, as an administrator. */
async function targetOf({ node: { daemon }, plainPort }: Side, path: (nodeId: string) => string): Promise<Target> {
  const headers = { Authorization: `Bearer ${await daemon.login()}` }
  return { url: `http://127.0.0.1:${plainPort}/api/v1${path(daemon.node)}`, headers }
}

/** Measures the requests per second of each side, in turns. */
async function rates(one: Side, three: Side): Promise<void> {
  const rows = []
  for (const [title, path] of [
    ['ping', () => '/ping'],
    ['live figures', livePath],
  ] as const) {
    const [alone, shared] = [await targetOf(one, path), await targetOf(three, path)]
    const [aloneRates, sharedRates]: [number[], number[]] = [[], []]
    for (let round = 0; round < RATE_ROUNDS; round += 1) {
      aloneRates.push(await throughput(alone, RATE_SECONDS))
      sharedRates.push(await throughput(shared, RATE_SECONDS))
    }
    const ratios = sharedRates.map((rate, i) => rate / (aloneRates[i] ?? rate))
    rows.push([title, whole(median(aloneRates)), whole(median(sharedRates)), spread(ratios, 2)])
  }
  table(
    'Requests per second of one node, and of one that is in a cluster of three on the same machine',
    ['request', 'one node', 'of three', 'ratio (range)'],
    rows,
  )
}

const livePath = (nodeId: string) => `/${nodeId}/layer7proxy/stats/backends`

/** Stages ten thousand real servers in one backend. No frontend: the HAProxys of this machine would share its port. */
async function fill(daemon: Daemon): Promise<string> {
  const rips = await createReals(daemon, RECORDS)
  const reals = rips.map((ripId) => ({ ripId }))
  await daemon.data('POST', '/layer7proxy/backends', {
    name: 'big',
    mode: 'http',
    reals,
    healthCheck: { type: 'none' },
  })
  return rips[0] ?? ''
}

export async function run(): Promise<void> {
  const ends: (() => unknown)[] = []
  const test = { teardown: (end: () => unknown) => void ends.push(end) }
  const daemons = await ClusterDaemons.begin(test)
  if (typeof daemons === 'string') {
    console.log(`\nCluster: not measured: ${daemons}`)
    return
  }
  try {
    const ports = [await freePort(), await freePort()] as const
    const started = (port?: number) =>
      daemons.start(port === undefined ? [] : ['--http', `127.0.0.1:${port}`], { isMeasured: true })
    const [alone, first, second, third] = [
      await started(ports[0]),
      await started(ports[1]),
      await started(),
      await started(),
    ]
    const nodes = [first, second, third]
    const one: Side = { title: 'one node', node: alone, plainPort: ports[0], pids: () => pidsOf(alone) }
    const three: Side = { title: 'three nodes', node: first, plainPort: ports[1], pids: () => pidsOf(first) }

    await form(first, 'a')
    await first.daemon.login()
    const made = new Map([
      [one, await fill(alone.daemon)],
      [three, await fill(first.daemon)],
    ])
    const join_ms = [await timed(() => join(second, 'b', first)), await timed(() => join(third, 'c', first))]
    const rows = []
    for (const [side, ripId] of made) {
      const { daemon } = side.node
      const whole_ms = await timed(() => daemon.data('PUT', '/services/apply'))
      const polls_ms = await timesAt(await targetOf(side, livePath), POLLS_PER_SECOND, POLL_SECONDS)
      const edit_ms = await edits(daemon, ripId)
      const apply_ms = await applies(daemon, ripId)
      const { share, memory_mb } = await idle(side)
      rows.push([
        side.title,
        percentiles(edit_ms),
        spread(apply_ms, 0),
        whole_ms.toFixed(0),
        percentiles(polls_ms),
        `${share.toFixed(1)} %`,
        memory_mb.toFixed(0),
      ])
    }
    const ripId = made.get(three) ?? ''
    table(
      `Cluster: ${RECORDS} real servers, ${EDITS} edits, ${ROUNDS} applies; idle is one daemon with its member of etcd`,
      [
        '',
        'edit p50 / p99 ms',
        'apply of one weight, ms',
        `apply of ${RECORDS}, ms`,
        `live figures at ${POLLS_PER_SECOND}/s p50 / p99 ms`,
        'idle, of one processor',
        'private memory MB',
      ],
      rows,
    )
    await rates(one, three)
    const seen_ms = await seen(first.daemon, second.daemon, ripId)
    const gaps_ms = await killed(nodes, ripId)
    table(
      'Cluster of three: what one node has no counterpart for',
      ['', 'ms'],
      [
        ['a change is read on another node, after the answer, p50 / p99', percentiles(seen_ms)],
        [`joining, with ${RECORDS} records`, spread(join_ms, 0)],
        ['the leading member of etcd is killed: until the next edit is answered', spread(gaps_ms, 0)],
      ],
    )
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}
