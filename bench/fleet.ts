/**
 * A fleet as its monitoring sees it: the answers of many nodes, each with different figures each second, collected by a
 * real Prometheus that also forwards them to a real VictoriaMetrics. One process answers for all nodes; to the
 * collectors each looks like a separate node.
 */
import { lstatSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Collector, noPrometheus, noVictoria } from '../test/fixtures/prometheus.ts'
import { cpuOf, inFolder, memoryOf } from './daemon.ts'
import { table, whole } from './measure.ts'
import { startNode } from './metrics.ts'
import { scaled } from './scale.ts'

const NODES = scaled(1_000, 3)
/** Number of objects of each node: frontends, backends and their servers. */
const OBJECTS = scaled(44, 22)
const INTERVAL_S = scaled(15, 1)
const WARM_MS = scaled(60_000, 4_000)
const MEASURED_MS = scaled(60_000, 2_000)

/** Writes the file by which Prometheus finds the nodes, as a site's own inventory would. */
function writeTargets(folder: string, port: number): string {
  const targets = Array.from({ length: NODES }, (_, i) => ({
    targets: [`127.0.0.1:${port}`],
    labels: { instance: `lb${i}`, __param_node: `${i}` },
  }))
  const file = join(folder, 'nodes.json')
  writeFileSync(file, JSON.stringify(targets))
  return file
}

function sizeOf(path: string): number {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isDirectory() !== true) return (stat?.blocks ?? 0) * 512
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}

async function numberOf(collector: Collector, expression: string): Promise<number> {
  return Number((await collector.query(expression))[0]?.value[1] ?? 0)
}

async function untilAllAreThere(collector: Collector): Promise<void> {
  const deadline_ms = performance.now() + 10 * 60_000
  for (let seen = 0; seen < NODES; await wait(1_000)) {
    seen = await numberOf(collector, 'count(up == 1)').catch(() => 0)
    if (performance.now() > deadline_ms) throw new Error(`of ${NODES} nodes ${seen} were collected`)
  }
}

/** Returns what a collector has used so far. */
async function usedBy(collector: Collector, samples: string) {
  return { samples: await collector.own(samples), cpu_s: cpuOf(collector.pid), bytes: sizeOf(collector.data) }
}

async function measure(folder: string, teardown: (end: () => unknown) => unknown): Promise<void> {
  const ending = { teardown: (end: () => unknown) => void teardown(end) }
  const { port, child } = await startNode(OBJECTS)
  teardown(() => child.kill())
  const file = writeTargets(folder, port)
  const victoria = await Collector.victoria(ending, '  []')
  const jobs = `  - job_name: fulcrum\n    file_sd_configs: [{ files: ['${file}'] }]`
  const prometheus = await Collector.prometheus(ending, jobs, { interval_s: INTERVAL_S, pushTo: victoria.writeUrl })
  await untilAllAreThere(prometheus)
  await wait(WARM_MS)
  const collectors = [
    ['Prometheus, which asks', prometheus, 'prometheus_tsdb_head_samples_appended_total'],
    ['VictoriaMetrics, which is sent them', victoria, 'vm_rows_inserted_total{type="promremotewrite"}'],
  ] as const
  const used = () => Promise.all(collectors.map(([, collector, samples]) => usedBy(collector, samples)))
  const before = await used()
  const began_ms = performance.now()
  await wait(MEASURED_MS)
  const after = await used()
  const seconds = (performance.now() - began_ms) / 1_000
  table(
    `A fleet of ${whole(NODES)} nodes, each with ${OBJECTS} objects and ${whole(await numberOf(prometheus, 'max(scrape_samples_scraped)'))} series, collected each ${INTERVAL_S} s`,
    ['collector', 'samples/s', 'of one processor', 'private memory, MB', 'bytes written per sample'],
    collectors.map(([name, { pid }], i) => {
      const [then, now] = [before[i], after[i]]
      if (then === undefined || now === undefined) throw new Error('nothing was measured')
      const samples = now.samples - then.samples
      return [
        name,
        whole(samples / seconds),
        `${(((now.cpu_s - then.cpu_s) / seconds) * 100).toFixed(0)} %`,
        whole(memoryOf(pid).anonymous_mb),
        ((now.bytes - then.bytes) / samples).toFixed(1),
      ]
    }),
  )
  const slowest_s = await numberOf(prometheus, 'quantile(0.99, scrape_duration_seconds)')
  const late = NODES - (await numberOf(prometheus, 'count(up == 1)'))
  console.log(
    `\nOf ${NODES} nodes ${late} were not collected; 99 % of the collections took at most ${slowest_s.toFixed(2)} s.`,
  )
}

export async function run(): Promise<void> {
  const missing = noPrometheus || noVictoria
  if (missing !== false) console.log(`\nfleet: not measured: ${missing}`)
  else await inFolder(measure)
}

if (import.meta.main) await run()
