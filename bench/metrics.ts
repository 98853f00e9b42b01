/** Cost of a scrape of the metrics: processor time of writing them, and the effect on pollers. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipInParts } from '../src/base/packing.ts'
import { LiveAnswers } from '../src/stats/live.ts'
import { tickOf } from '../test/fixtures/live-tick.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { Farm } from './farm.ts'
import { latencyAt } from './load.ts'
import { median, processorTime_ms, spread, table, timed, whole } from './measure.ts'
import { metricsOf } from './metrics-of.ts'
import { scaled } from './scale.ts'

const SIZES = scaled([1_000, 20_000], [100])
const RENDERS = scaled(40, 2)
const WARM = scaled(15, 1)
const OBJECTS = scaled(20_000, 100)
const PER_SECOND = scaled(10_000, 100)
const ROUNDS = scaled(8, 1)
const SECONDS = scaled(15, 1)
const SCRAPE_EVERY_MS = scaled(15_000, 200)

async function rendered(objects: number): Promise<readonly string[]> {
  const farm = new Farm(objects)
  const live = new LiveAnswers(farm.names, 'bench')
  let now_ms = 0
  const metrics = metricsOf({ live, names: farm.names }, () => now_ms)
  const [cpu_ms, live_ms]: [number[], number[]] = [[], []]
  let body: Uint8Array | string = ''
  for (let second = 1; second <= WARM + RENDERS; second++) {
    live.update(tickOf(farm.csv(), second))
    now_ms += 1_000
    const began_ms = processorTime_ms()
    ;({ body } = await metrics.answer('application/openmetrics-text'))
    const between_ms = processorTime_ms()
    live.render({ kind: 'all' })
    if (second <= WARM) continue
    cpu_ms.push(between_ms - began_ms)
    live_ms.push(processorTime_ms() - between_ms)
  }
  let packed = 0
  const bytes = Buffer.from(body)
  const gzip_ms = await timed(() => (packed = gzipInParts(bytes, () => undefined).length))
  return [
    whole(objects),
    (body.length / 1e6).toFixed(1),
    spread(cpu_ms),
    (median(cpu_ms) / median(live_ms)).toFixed(2),
    (packed / 1e6).toFixed(2),
    gzip_ms.toFixed(0),
  ]
}

function scrape(port: number): Promise<number> {
  const headers = { accept: 'application/openmetrics-text;version=1.0.0', 'accept-encoding': 'gzip' }
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/metrics', headers }, (answer) => {
      let bytes = 0
      answer.on('data', (part: Buffer) => (bytes += part.length))
      answer.on('end', () => resolve(bytes))
      answer.on('error', reject)
    }).on('error', reject)
  })
}

/** Starts `watched-node.ts` in a separate process; resolves once it answers. */
export async function startNode(objects: number): Promise<{ readonly port: number; readonly child: ChildProcess }> {
  const port = await freePort()
  const program = fileURLToPath(new URL('watched-node.ts', import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv, program, String(objects), String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface({ input: child.stdout }), 'line')
  return { port, child }
}

async function besidePollers(): Promise<readonly string[]> {
  const { port, child } = await startNode(OBJECTS)
  try {
    const target = { url: `http://127.0.0.1:${port}/live`, headers: {} }
    for (let n = 0; n < 3; n++) await scrape(port)
    await latencyAt(target, PER_SECOND, 1)
    const [alone, beside]: [number[], number[]] = [[], []]
    let scrapes = 0
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await latencyAt(target, PER_SECOND, SECONDS))
      const ending = new AbortController()
      const scraping = (async () => {
        while (!ending.signal.aborted) {
          await scrape(port)
          scrapes++
          await wait(SCRAPE_EVERY_MS, undefined, { signal: ending.signal }).catch(() => undefined)
        }
      })()
      beside.push(await latencyAt(target, PER_SECOND, SECONDS))
      ending.abort()
      await scraping
    }
    const ratios = beside.map((value, round) => value / (alone[round] ?? value))
    return [whole(PER_SECOND), spread(alone, 2), spread(beside, 2), spread(ratios, 2), String(scrapes)]
  } finally {
    const exit = once(child, 'exit')
    child.kill()
    await exit
  }
}

export async function run(): Promise<void> {
  const rows = []
  for (const objects of SIZES) rows.push(await rendered(objects))
  table(
    'Metrics: processor time of one document',
    ['objects', 'MB', 'CPU ms', 'times a live answer with all objects', 'MB gzip', 'ms of another thread to compress'],
    rows,
  )
  table(
    `Pollers beside scrapes of ${whole(OBJECTS)} objects, one in ${SCRAPE_EVERY_MS / 1000} s`,
    ['live polls/s', 'p99 ms alone', 'p99 ms beside scrapes', 'ratio', 'scrapes'],
    [await besidePollers()],
  )
}

if (import.meta.main) await run()
