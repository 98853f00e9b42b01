/**
 * Throughput by the number of front threads. Two processors can run no more than one of them and the load, so a control
 * group gives each thread the same small share of a processor, as if there were as many slower processors.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuOf, createReals, startDaemon } from './daemon.ts'
import { startBare, throughput } from './load.ts'
import { median, spread, table, whole } from './measure.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(5, 1)
const SECONDS = scaled(3, 0.2)
const THREADS = scaled([0, 1, 2, 4], [0, 2])
/** Processor time of each thread: one tenth, in slices of a millisecond. */
const [PERIOD_US, QUOTA_US] = [10_000, 1_000]
const GROUPS = '/sys/fs/cgroup/cpu'

/** Returns the threads of a process by processor time under this load, the busiest first. */
async function busiest(pid: number, ask: () => Promise<unknown>): Promise<readonly string[]> {
  const folder = `/proc/${pid}/task`
  const used = () =>
    new Map(
      readdirSync(folder).map((tid) => [
        tid,
        Number(readFileSync(join(folder, tid, 'schedstat'), 'utf8').split(' ')[0]),
      ]),
    )
  const before = used()
  await ask()
  const grown = [...used()].map(([tid, now]) => [tid, now - (before.get(tid) ?? 0)] as const)
  return grown.toSorted(([, a], [, b]) => b - a).map(([tid]) => tid)
}

/** Limits each of these threads to its share of a processor; returns a function that lifts the limits. */
function confine(tids: readonly string[]): () => void {
  const groups = tids.map((tid) => join(GROUPS, `fulcrum-bench-${tid}`))
  for (const [at, group] of groups.entries()) {
    mkdirSync(group)
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US))
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(QUOTA_US))
    writeFileSync(join(group, 'tasks'), tids[at] ?? '')
  }
  return () => {
    for (const [at, group] of groups.entries()) {
      writeFileSync(join(GROUPS, 'tasks'), tids[at] ?? '')
      rmdirSync(group)
    }
  }
}

interface Round {
  readonly confined: number
  readonly free: number
  readonly processor_us: number
}

async function measure(
  fronts: number,
): Promise<{ readonly rounds: readonly Round[]; stop(): Promise<void>; next(): Promise<void> }> {
  const bench = await startDaemon(['--front-threads', String(fronts)])
  const { daemon, plainPort } = bench
  const reals = (await createReals(daemon, 3)).map((ripId) => ({ ripId }))
  const backend = { name: 'small', mode: 'http', reals, healthCheck: { type: 'none' } }
  const { id } = await daemon.data('POST', '/layer7proxy/backends', backend)
  await daemon.data('PUT', '/services/apply')
  const token = await daemon.login()
  const url = `http://127.0.0.1:${plainPort}/api/v1/${daemon.node}/layer7proxy/stats/rips/backend/${id}`
  const target = { url, headers: { Authorization: `Bearer ${token}` } }
  const ask = (seconds: number) => throughput(target, seconds)
  const tids = (await busiest(daemon.pid, () => ask(scaled(1, SECONDS)))).slice(0, Math.max(1, fronts))
  const rounds: Round[] = []
  return {
    rounds,
    stop: () => bench.stop(),
    async next() {
      const before_s = cpuOf(daemon.pid)
      const free = await ask(SECONDS)
      const processor_us = ((cpuOf(daemon.pid) - before_s) * 1e6) / (free * SECONDS)
      let confined = Number.NaN
      if (existsSync(join(GROUPS, 'cpu.cfs_quota_us'))) {
        const release = confine(tids)
        try {
          confined = await ask(SECONDS)
        } finally {
          release()
        }
      }
      rounds.push({ confined, free, processor_us })
      await sleep(200)
    },
  }
}

export async function run(): Promise<void> {
  const measured: (readonly [number, Awaited<ReturnType<typeof measure>>])[] = []
  const limit = await startBare(Buffer.alloc(2340, 'x'))
  const bare: number[] = []
  try {
    for (const threads of THREADS) measured.push([threads, await measure(threads)])
    for (let round = 0; round < ROUNDS; round += 1) {
      bare.push(await throughput({ url: limit.url, headers: {} }, SECONDS))
      for (const [, each] of measured) await each.next()
    }
  } finally {
    limit.stop()
    for (const [, each] of measured) await each.stop()
  }
  const one = measured.find(([threads]) => threads > 0)?.[1].rounds ?? []
  const rows = measured.map(([threads, { rounds }]) => {
    const of = (what: keyof Round) => rounds.map((round) => round[what])
    const times = of('confined').map((rate, at) => rate / (one[at]?.confined ?? Number.NaN))
    return [
      threads === 0 ? 'none: the thread that answers' : String(threads),
      whole(median(of('confined'))),
      spread(times, 2),
      whole(median(of('free'))),
      spread(of('processor_us')),
    ]
  })
  table(
    `Threads in front: live figures of 3 real servers; ${ROUNDS} rounds of ${SECONDS} s in turns, wrk -t1 -c32; a bare server that only sends ${whole(median(bare))}/s`,
    [
      'threads',
      'requests/s with a tenth of a processor each',
      'times one thread',
      'requests/s',
      'processor µs per request',
    ],
    rows,
  )
}

if (import.meta.main) await run()
