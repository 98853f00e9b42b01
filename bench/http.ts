/** Requests per second and p99 of the front, compared with a bare uWebSockets.js server that answers the same bytes. */
import { latencyAt } from './load.ts'
import { median, spread, table, whole } from './measure.ts'
import { besideBare, type Rate, ratios, startPolled } from './polled.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(4, 1)
const SECONDS = scaled(2, 0.2)

export async function run(): Promise<void> {
  const polled = await startPolled()
  const rows: (readonly string[])[] = []
  try {
    // A smoke run requests one case of each kind: plain, compressed, and rolling windows.
    const cases = scaled(
      polled.cases,
      polled.cases.filter((_, at) => [1, 4, 6].includes(at)),
    )
    for (const asked of cases) {
      const { ours, bare, reading, target, bytes } = await besideBare(polled, asked, {
        rounds: ROUNDS,
        seconds: SECONDS,
        reads: true,
      })
      const ratesOf = (each: readonly Rate[]) => each.map(({ perSecond }) => perSecond)
      const costsOf = (each: readonly Rate[]) => each.map(({ processor_us }) => processor_us)
      const [rates, limits, costs] = [ratesOf(ours), ratesOf(bare), costsOf(ours)]
      const half = median(rates) / 2
      const p99_ms = await latencyAt(target, half, SECONDS)
      rows.push([
        asked.title,
        `${bytes}`,
        whole(median(rates)),
        whole(median(limits)),
        spread(ratios(rates, limits), 2),
        `${median(costs).toFixed(1)} / ${median(costsOf(bare)).toFixed(1)}`,
        reading.length === 0 ? '–' : spread(ratios(costs, costsOf(reading)), 2),
        `${p99_ms.toFixed(2)} at ${whole(half)}/s`,
      ])
    }
  } finally {
    await polled.stop()
  }
  table(
    `Front: ${ROUNDS} interleaved rounds of ${SECONDS} s, wrk -t1 -c32, token and role check on`,
    [
      'request',
      'bytes',
      'requests/s',
      'bare uWebSockets.js',
      'ratio (range)',
      'processor µs / bare',
      'of a server that reads',
      'p99 ms',
    ],
    rows,
  )
}

if (import.meta.main) await run()
