/** Cost of connections: kept and new ones, plain and over TLS, with and without session resumption. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startDaemon } from './daemon.ts'
import { type BareServer, startBare } from './load.ts'
import { median, spread, table, whole } from './measure.ts'
import { type Made, madeOf, type Rate, rateOf, ratios } from './polled.ts'
import { scaled } from './scale.ts'

const execute = promisify(execFile)
const ROUNDS = scaled(4, 1)
const SECONDS = scaled(3, 0.2)
const PING = '/api/v1/ping'
const ANSWER = Buffer.from('{"status":"success","message":"pong"}')

/** Sends requests to a server at these URLs: plain HTTP and TLS. */
type Load = (plain: string, tls: string) => Promise<Made>

const kept = (url: string, headers = {}) => madeOf({ url: new URL(PING, url).href, headers }, SECONDS)
const closing = (url: string) => kept(url, { Connection: 'close' })

/**
 * Opens one connection after the other: handshake, one request, end. s_time reports whole seconds, and one more than it
 * took.
 */
async function handshakes(tls: string, how: '-new' | '-reuse'): Promise<Made> {
  const { host } = new URL(tls)
  const argv = ['s_time', '-connect', host, '-tls1_3', how, '-www', PING, '-time', String(Math.ceil(SECONDS))]
  const began_ms = performance.now()
  const { stdout } = await execute('openssl', argv)
  const seconds = (performance.now() - began_ms) / 1000
  const [, count] = /(\d+) connections in \d+ real seconds/.exec(stdout) ?? []
  return { requests: Number(count), seconds }
}

const CASES: readonly (readonly [name: string, load: Load])[] = [
  ['plain HTTP, connections that are kept', (plain) => kept(plain)],
  ['TLS 1.3, connections that are kept', (_, tls) => kept(tls)],
  ['plain HTTP, a connection for each request', (plain) => closing(plain)],
  ['TLS 1.3, a connection for each request', (_, tls) => closing(tls)],
  ['the same, one after the other', (_, tls) => handshakes(tls, '-new')],
  ['the same, with a session that is resumed', (_, tls) => handshakes(tls, '-reuse')],
]

export async function run(): Promise<void> {
  const bench = await startDaemon()
  const { daemon, plainPort } = bench
  const bares: BareServer[] = []
  const rows = []
  try {
    const file = (name: string) => join(daemon.state, 'tls', name)
    const shown = { key: file('api-key.pem'), certificate: file('api-certificate.pem') }
    const [barePlain, bareTls] = [await startBare(ANSWER), await startBare(ANSWER, { tls: shown })]
    bares.push(barePlain, bareTls)
    for (const [name, load] of CASES) {
      const [ours, bare]: [Rate[], Rate[]] = [[], []]
      const limit = name.startsWith('plain') ? barePlain : bareTls
      const [bareAt, ownAt] = [
        [barePlain.url, bareTls.url],
        [`http://127.0.0.1:${plainPort}`, `https://127.0.0.1:${daemon.port}`],
      ] as const
      for (let round = 0; round < ROUNDS; round += 1) {
        bare.push(await rateOf(limit.pid, () => load(...bareAt)))
        ours.push(await rateOf(daemon.pid, () => load(...ownAt)))
      }
      const of = (rates: readonly Rate[], what: keyof Rate) => rates.map((rate) => rate[what])
      rows.push([
        name,
        whole(median(of(ours, 'perSecond'))),
        whole(median(of(bare, 'perSecond'))),
        spread(ratios(of(ours, 'perSecond'), of(bare, 'perSecond')), 2),
        median(of(ours, 'processor_us')).toFixed(0),
        median(of(bare, 'processor_us')).toFixed(0),
      ])
    }
  } finally {
    for (const bare of bares) bare.stop()
    await bench.stop()
  }
  table(
    `Connections: ping, ${ROUNDS} interleaved rounds of ${SECONDS} s; wrk -t1 -c32, and openssl s_time one after the other`,
    ['connections', 'requests/s', 'bare uWebSockets.js', 'ratio (range)', 'processor µs', 'of the bare server'],
    rows,
  )
}

if (import.meta.main) await run()
