import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'
import { ask } from './plain-haproxy.ts'
import { countingOrigin, startLoad } from './streaming-load.ts'

/** Seconds of reloads; see CONTRIBUTING.md for the long run. */
const SECONDS = Number(process.env['FULCRUM_TEST_RELOAD_SECONDS'] ?? 10)
const RELOAD_EVERY_MS = 2_000
const LOST_MAX = 0.0001
const FIGURES = ['connections', 'received_bytes', 'sent_bytes'] as const

/** Returns the archived values of one frontend in [from, to): sums of the seconds, and the number of unknown ones. */
async function archived(daemon: Daemon, id: string, from: number, to: number) {
  const path = `/${daemon.node}/layer7proxy/stats/frontends/${id}/history?start=${from}&end=${to}&resolution=1`
  const { series, resolution } = await daemon.data('GET', path)
  const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0)
  return {
    resolution,
    unknown: series.bytesIn.filter((value: number | null) => value === null).length,
    connections: sum(series.sessionRate),
    received_bytes: sum(series.bytesIn),
    sent_bytes: sum(series.bytesOut),
  }
}

/**
 * Suspends the daemon repeatedly for longer than the rest of a poll, mostly in the middle of one. Three polls come
 * between, of which a busy machine may lose two: after five seconds without an answer, counts are unknown.
 */
async function standStill({ pid }: Daemon, signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    // Polls are 50 ms after each second.
    await sleep(3_052 + ((round * 4) % 15) - (Date.now() % 1_000))
    process.kill(pid, 'SIGSTOP')
    await sleep(1_150 + ((round * 163) % 500))
    process.kill(pid, 'SIGCONT')
  }
}

// Run alone, the file has its own deadline.
t.setTimeout(2 * (SECONDS + 660) * 1000)

for (const stands of [false, true])
  t.test(
    `a reload every two seconds under load${stands ? ', and a daemon that stands still in its polls' : ''}`,
    {
      timeout: (SECONDS + 600) * 1000,
    },
    async (test) => {
      const daemon = await daemonFixture(test)
      const origin = await countingOrigin(test)
      const port = await freePort()
      const rip = await daemon.data('POST', '/ipvsDirector/rips', { name: 'o', ip: '127.0.0.1', port: origin.port })
      const backend = await daemon.data('POST', '/layer7proxy/backends', {
        name: 'be',
        mode: 'tcp',
        // A session that HAProxy abandons has bytes that were sent and never read.
        timeoutConnect: 60,
        reals: [{ ripId: rip.id }],
        healthCheck: { type: 'none' },
      })
      const made = { name: 'fe', mode: 'tcp', ip: '127.0.0.1', ports: String(port), defaultBackendId: backend.id }
      const { id } = await daemon.data('POST', '/layer7proxy/frontends', made)
      await daemon.data('PUT', '/services/apply')
      const from = Math.floor(Date.now() / 1000) - 5
      await until(
        'the first figures',
        () => daemon.data('GET', `/${daemon.node}/layer7proxy/stats/frontends/${id}`),
        ({ status }) => status === 'OPEN',
      )

      const load = startLoad(port, { perSecond: 200, streams: 20 })
      const ends = performance.now() + SECONDS * 1000
      const loaded = new AbortController()
      const stills = stands ? standStill(daemon, loaded.signal) : undefined
      let reloads = 0
      for (let next = performance.now() + RELOAD_EVERY_MS; performance.now() < ends; next += RELOAD_EVERY_MS) {
        await sleep(Math.max(0, next - performance.now()))
        await daemon.data('PUT', '/services/layer7proxy/reload')
        reloads++
      }
      loaded.abort()
      await stills
      await load.stop()
      test.same(load.failures, [], 'no connection failed')
      const master = `${daemon.state}/haproxy/master.sock`
      await until(
        'the old workers to end',
        () => ask(master, 'show proc').catch(() => 'old workers'),
        (text) => !/# old workers\n\d/.test(text),
      )
      await sleep(2_500)
      // HAProxy counts sessions that it accepts and cannot pass on, because the origin is too busy.
      const { connections, sent_bytes, received_bytes } = load.counted
      const truths = { connections, received_bytes: sent_bytes, sent_bytes: received_bytes }
      const read = () => archived(daemon, id, from, Math.floor(Date.now() / 1000))
      const isThere = (now: Awaited<ReturnType<typeof read>>) =>
        FIGURES.every((figure) => now[figure] > truths[figure] * (1 - LOST_MAX))
      await until('the last seconds', read, isThere, 60_000).catch(() => undefined)
      const found = await read()
      test.equal(found.resolution, 1)
      test.comment(`${reloads} reloads, ${found.unknown} unknown seconds`)
      test.comment(`the origin: ${JSON.stringify(origin)}`)
      for (const figure of FIGURES) {
        const [truth, counted] = [truths[figure], found[figure]]
        const lost = (truth - counted) / truth
        test.comment(`${figure}: clients ${truth}, archive ${counted}, lost ${(lost * 100).toFixed(5)} %`)
        test.ok(counted <= truth, `${figure}: nothing invented`)
        test.ok(lost < LOST_MAX, `${figure}: nothing lost`)
      }
    },
  )
