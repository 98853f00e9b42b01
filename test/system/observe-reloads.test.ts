/** Reloads of an observed HAProxy: counts of replaced processes. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { fetchOnce } from '../fixtures/traffic.ts'
import { observer, site, stoodStill, sumOf, upAgain } from './observed-site.ts'
import { ask, type Recorded, recordingProxy } from './plain-haproxy.ts'

const RELOADS = 6
const RELOAD_EVERY_MS = 1_300
const REQUESTS = 25

const HEAD = 'Host: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\n'

/** The daemon has seen so many requests of a process before the rest is sent. */
const SEEN_AFTER = 15
/** Fewer than one in a hundred of all requests. */
const LOST_MAX = Math.floor((1 + RELOADS * REQUESTS) * 0.01)

type Seen = (least: number) => Promise<unknown>
type Metric = Parameters<typeof sumOf>[2]
type Figure = () => Promise<number>
type Haproxy = Awaited<ReturnType<typeof site>>['haproxy']

/** Resolves when the last old process has ended. */
const noOldOne = (haproxy: Haproxy) =>
  until(
    'the old processes to end',
    () => ask(haproxy.masterSocket, 'show proc').catch(() => '# old workers\n1'),
    (text) => !/# old workers\n\d/.test(text),
  )

/**
 * Sends requests all the time, and reloads after every so many. A process that was replaced before its first request
 * could not be counted, and on a slow machine the next poll may be late: each process is seen first, and then gets its
 * last requests. `sent` counts earlier requests.
 */
async function reloads(haproxy: Haproxy, port: number, sent: number, seen: Seen): Promise<void> {
  for (let reload = 0; reload < RELOADS; reload++) {
    const next = performance.now() + RELOAD_EVERY_MS
    for (let i = 0; i < REQUESTS; i++) {
      await fetchOnce(port)
      sent += 1
      if (i === SEEN_AFTER) await seen(sent - LOST_MAX)
    }
    await haproxy.reload()
    await sleep(Math.max(0, next - performance.now()))
  }
  await noOldOne(haproxy)
}

async function frontendOf(daemon: Daemon): Promise<string> {
  return `/frontends/${(await upAgain(daemon)).frontends[0].id}`
}

/** A daemon that was suspended loses counts, and so does a poll that HAProxy answers at the end of its time. */
const LATE_MS = 500

/** On a machine that is too slow the sum may never be reached: then the wait ends as well. */
const sumReaches = (daemon: Daemon, frontend: string, metric: Metric, least: number, { slowest_ms }: Recorded) =>
  until(
    `${metric} of ${least}`,
    async () => ({
      sum: await sumOf(daemon, frontend, metric),
      isLess: slowest_ms() > LATE_MS || (await stoodStill(daemon, frontend)),
    }),
    ({ sum, isLess }) => isLess || sum >= least,
  )

/** Returns the figure of the frontend's history, once it no longer grows. */
async function settled(daemon: Daemon, frontend: string, metric: Metric): Promise<number> {
  let before = -1
  return until(
    'figures that rest',
    async () => {
      const [last, now] = [before, await sumOf(daemon, frontend, metric)]
      before = now
      await sleep(2_000)
      return { last, now }
    },
    ({ last, now }) => last === now && now > 0,
  ).then(({ now }) => now)
}

/** Both concurrently: they wait more than they compute. */
t.test('repeated reloads, seen through the stats socket and through the master', { timeout: 1_800_000 }, (test) =>
  Promise.all((['statsSocket', 'masterSocket'] as const).map((socket) => reloadsAreCounted(test, socket))).then(),
)

async function reloadsAreCounted(test: Test, socket: 'statsSocket' | 'masterSocket'): Promise<void> {
  const { haproxy, port } = await site(test, 'level user')
  await haproxy.start()
  const proxied = `${haproxy.folder}/proxy.sock`
  const recorded = await recordingProxy(test, proxied, haproxy[socket])
  const daemon = await observer(test, proxied)
  const www = await frontendOf(daemon)
  await fetchOnce(port)
  const answer_bytes = await until(
    'the bytes of an answer',
    () => sumOf(daemon, www, 'bytesOut'),
    (bytes) => bytes > 0,
  )
  await reloads(haproxy, port, 1, (least) => sumReaches(daemon, www, 'sessionRate', least, recorded))
  const requests = 1 + RELOADS * REQUESTS
  const sent_bytes = requests * answer_bytes
  await sumReaches(daemon, www, 'sessionRate', requests - LOST_MAX, recorded)
  await sumReaches(daemon, www, 'bytesOut', (requests - LOST_MAX) * answer_bytes, recorded)
  if (recorded.slowest_ms() > LATE_MS) test.comment(`HAProxy took up to ${Math.round(recorded.slowest_ms())} ms`)
  const [sessions, bytes] = [await settled(daemon, www, 'sessionRate'), await sumOf(daemon, www, 'bytesOut')]
  test.ok(sessions <= requests && bytes <= sent_bytes, `${socket}: nothing invented`)
  const commands = new Set(recorded.lines.flatMap((line) => line.split(';').map((command) => command.trim())))
  test.notOk(
    [...commands].some((command) => !/^(@\S+ )?show \w/.test(command)),
    [...commands].join(', '),
  )
}

/** A request that is answered by the process replaced three seconds before. */
async function finishedLate(test: Test, { haproxy, port }: { haproxy: Haproxy; port: number }, bytesOut: Figure) {
  const client = connect(port, '127.0.0.1', () => client.write(`POST / HTTP/1.1\r\n${HEAD}`))
  await sleep(1_000)
  await haproxy.reload()
  await sleep(3_000)
  const before = await bytesOut()
  client.resume().end('12345')
  await once(client, 'close')
  await noOldOne(haproxy)
  await sleep(2_000)
  const added = (await bytesOut()) - before
  test.ok(added < 1_000, `${added} bytes: nothing invented`)
  return added
}

t.test('a request that finishes some seconds after the reload is counted', { timeout: 1_800_000 }, async (test) => {
  const running = await site(test, 'level user')
  await running.haproxy.start()
  const daemon = await observer(test, running.haproxy.statsSocket)
  const www = await frontendOf(daemon)
  let requests = 0
  // HAProxy ends silent sessions after ten seconds: a daemon suspended for that long cannot count them.
  await until(
    'the answer of an old process',
    () => {
      requests++
      return finishedLate(test, running, () => sumOf(daemon, www, 'bytesOut'))
    },
    (added) => added >= 500,
  )
  const sessions = await sumOf(daemon, www, 'sessionRate')
  test.ok(sessions <= requests, `${sessions} sessions of ${requests} requests`)
})

t.test('a socket with few places is left to other clients', { timeout: 1_800_000 }, async (test) => {
  const { haproxy, port } = await site(test, 'level user\n  stats maxconn 3')
  await haproxy.start()
  const daemon = await observer(test, haproxy.statsSocket)
  const www = await frontendOf(daemon)
  await until(
    'an answer to somebody else',
    // Its socket is full until the daemon has noticed that it uses too many places.
    () => ask(haproxy.statsSocket, 'show info').catch(String),
    (text) => text.includes('Pid: '),
  )
  let sent = 0
  const sum = await until(
    'figures that still come',
    async () => {
      // Counts of a longer silence are in no second: a slow machine may need more than the first ones.
      for (let i = 0; i < 10; i++) await fetchOnce(port)
      sent += 10
      return sumOf(daemon, www, 'sessionRate')
    },
    (counted) => counted > 0,
  )
  test.ok(sum <= sent, `${sum} of ${sent}`)
})
