/**
 * A GET answered by another node, compared with the same GET answered locally. Both nodes are in this process, so a
 * forwarded request takes processor time for both of them.
 */
import { Doings, pipelineOf, reaching, urlOf } from '../test/fixtures/forwarding.ts'
import { TestCluster } from '../test/fixtures/peers.ts'
import { type Target, throughput, timesAt } from './load.ts'
import { median, percentile, spread, table, whole } from './measure.ts'
import { scaled } from './scale.ts'

const ROUNDS = scaled(4, 1)
const SECONDS = scaled(2, 0.2)
/** The same rate for both: one that the slower side handles with ease. */
const PER_SECOND = scaled(300, 50)

interface Side {
  readonly title: string
  readonly target: Target
  readonly rates: number[]
  readonly p50_ms: number[]
  readonly p99_ms: number[]
}

async function round({ target, rates, p50_ms, p99_ms }: Side): Promise<void> {
  rates.push(await throughput(target, SECONDS))
  const times_ms = await timesAt(target, PER_SECOND, SECONDS)
  p50_ms.push(percentile(times_ms, 0.5))
  p99_ms.push(percentile(times_ms, 0.99))
}

export async function run(): Promise<void> {
  const ends: (() => unknown)[] = []
  try {
    const test = { teardown: (end: () => unknown) => void ends.push(end) }
    const cluster = await TestCluster.make()
    const far = pipelineOf('lb2', new Doings())
    const { port } = await cluster.serve(test, (request) => far.handleForwarded(request))
    const url = await urlOf(test, pipelineOf('lb1', new Doings(), reaching(cluster.client(test, port), 'lb2')))
    const side = (title: string, nodeId: string): Side => {
      const target = { url: `${url}/${nodeId}/hello/1`, headers: { Authorization: 'Bearer ann' } }
      return { title, target, rates: [], p50_ms: [], p99_ms: [] }
    }
    const [local, forwarded] = [side('answered here', 'lb1'), side('forwarded', 'lb2')]
    for (let n = 0; n < ROUNDS; n += 1) for (const one of [local, forwarded]) await round(one)
    const row = ({ title, rates, p50_ms, p99_ms }: Side) => [
      title,
      whole(median(rates)),
      spread(
        rates.map((rate, n) => (local.rates[n] ?? rate) / rate),
        1,
      ),
      spread(p50_ms, 2),
      spread(p99_ms, 2),
    ]
    table(
      `Forwarding: ${ROUNDS} rounds of ${SECONDS} s, plain HTTP at the client, TLS between the nodes, one process`,
      ['GET', 'requests/s', 'times the cost', `p50 ms at ${PER_SECOND}/s`, 'p99 ms'],
      [local, forwarded].map(row),
    )
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}
