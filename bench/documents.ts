/** Cost of each public document, which anybody may request as often as they like. */
import { readFileSync } from 'node:fs'
import { startDaemon } from './daemon.ts'
import { throughput } from './load.ts'
import { median, table, whole } from './measure.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(3, 1)
const SECONDS = scaled(2, 0.2)
const PATHS = scaled(
  ['ping', 'openapi.json', 'docs', 'docs/start.js', 'docs/swagger-ui.css', 'docs/swagger-ui-bundle.js'],
  ['openapi.json'],
)
/** Length of a clock tick in /proc. */
const TICK_US = 10_000

/** Returns the processor time of a process in microseconds. */
function spent_us(pid: number): number {
  const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return (user + system) * TICK_US
}

export async function run(): Promise<void> {
  const bench = await startDaemon()
  const { daemon, plainPort } = bench
  const rows: (readonly string[])[] = []
  try {
    for (const path of PATHS) {
      const url = `http://127.0.0.1:${plainPort}/api/v1/${path}`
      const etag = (await daemon.call('GET', `/${path}`)).headers['etag']
      const forms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
        plain: {},
        gzip: { 'Accept-Encoding': 'gzip' },
        ...(etag !== undefined && { conditional: { 'If-None-Match': etag } }),
      }
      for (const [form, headers] of Object.entries(forms)) {
        const reached: number[] = []
        const costs: number[] = []
        for (let round = 0; round < ROUNDS; round += 1) {
          const before = spent_us(daemon.pid)
          const perSecond = await throughput({ url, headers }, SECONDS)
          reached.push(perSecond)
          costs.push((spent_us(daemon.pid) - before) / (perSecond * SECONDS))
        }
        rows.push([path, form, whole(median(reached)), median(costs).toFixed(1)])
      }
    }
  } finally {
    await bench.stop()
  }
  table(
    `Public documents: ${ROUNDS} rounds of ${SECONDS} s, wrk -t1 -c32, plain HTTP, no login`,
    ['document', 'form', 'requests/s', 'µs of processor a request'],
    rows,
  )
}

if (import.meta.main) await run()
