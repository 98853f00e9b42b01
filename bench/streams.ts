/** Cost of clients that follow live figures: memory per client, processor time, and the effect on pollers. */
import { connect, type Socket } from 'node:net'
import { freePort } from '../test/fixtures/traffic.ts'
import { PASSWORD } from '../test/fixtures/daemon.ts'
import { until } from '../test/fixtures/until.ts'
import { createReals, cpuOf, memoryOf, startDaemon, type BenchDaemon } from './daemon.ts'
import { latencyAt } from './load.ts'
import { spread, table, whole } from './measure.ts'
import { scaled } from './scale.ts'

const CLIENTS = scaled(5_000, 60)
/** The clients belong to this many users, because one user may not have all of them. */
const USERS = scaled(4, 2)
/** The clients come from this many addresses, for the same reason. */
const ADDRESSES = 4
const SERVERS = scaled(50, 4)
const PER_SECOND = scaled(1_000, 40)
const ROUNDS = scaled(5, 1)
const SECONDS = scaled(4, 1)

async function tokens({ daemon }: BenchDaemon): Promise<readonly string[]> {
  const roles = (await daemon.data('GET', '/rbac/roles')) as readonly { id: string; name: string }[]
  const monitoring = roles.filter(({ name }) => name === 'Monitoring').map(({ id }) => id)
  const emails = Array.from({ length: USERS }, (_, n) => `watcher${n}@localhost`)
  for (const email of emails) {
    const body = { email, firstname: 'W', lastname: 'W', password: PASSWORD, disabled: 'false', roles: monitoring }
    await daemon.data('POST', '/localUsers/users', body)
  }
  await daemon.data('PUT', '/services/apply')
  const all = []
  for (const email of emails)
    all.push(String((await daemon.data('POST', '/token', { email, password: PASSWORD })).token))
  return all
}

async function configure({ daemon }: BenchDaemon): Promise<{ readonly id: string; readonly port: number }> {
  const reals = (await createReals(daemon, SERVERS)).map((ripId) => ({ ripId }))
  const backend = { name: 'web', mode: 'http', reals, healthCheck: { type: 'none' } }
  const defaultBackendId = (await daemon.data('POST', '/layer7proxy/backends', backend)).id
  const port = await freePort()
  const settings = { name: 'fe', mode: 'http', ip: '127.0.0.1', ports: String(port), defaultBackendId }
  const { id } = await daemon.data('POST', '/layer7proxy/frontends', settings)
  await daemon.data('PUT', '/services/apply')
  return { id, port }
}

/** Changes some figures each second; no server runs, so HAProxy itself answers. */
function keepBusy(port: number): () => void {
  const timer = setInterval(() => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.end('GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'),
    )
    socket.on('error', () => undefined)
    socket.resume()
  }, 100)
  return () => clearInterval(timer)
}

interface Followers {
  readonly sockets: readonly Socket[]
  readonly told: { events: number }
}

/** Lets all clients follow everything. */
async function follow({ daemon, plainPort }: BenchDaemon, held: readonly string[]): Promise<Followers> {
  const told = { events: 0 }
  const sockets: Socket[] = []
  let begun = 0
  for (let n = 0; n < CLIENTS; n++) {
    const socket = connect({ host: '127.0.0.1', port: plainPort, localAddress: `127.0.0.${2 + (n % ADDRESSES)}` })
    let isBegun = false
    socket.on('data', (part: Buffer) => {
      if (!isBegun && part.includes('event: figures')) begun++
      isBegun ||= part.includes('event: figures')
      if (part.includes('event: changed')) told.events++
    })
    socket.on('error', (error) => {
      throw error
    })
    const path = `/api/v1/${daemon.node}/stats/stream`
    socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${held[n % held.length]}\r\n\r\n`)
    sockets.push(socket)
    if (n % 100 === 99) await new Promise((resolve) => setImmediate(resolve))
  }
  await until(
    'all clients',
    async () => begun,
    (count) => count >= CLIENTS,
    60_000,
  )
  return { sockets, told }
}

export async function run(): Promise<void> {
  const bench = await startDaemon()
  let rest = () => undefined as void
  try {
    const { id: frontend, port } = await configure(bench)
    rest = keepBusy(port)
    const held = await tokens(bench)
    const { daemon, plainPort } = bench
    const token = await daemon.login()
    const url = `http://127.0.0.1:${plainPort}/api/v1/${daemon.node}/layer7proxy/stats/frontends/${frontend}`
    const target = { url, headers: { Authorization: `Bearer ${token}` } }
    await latencyAt(target, PER_SECOND, SECONDS)
    const [alone, beside, kilobytes]: [number[], number[], number[]] = [[], [], []]
    let [share, events] = [0, 0]
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await latencyAt(target, PER_SECOND, SECONDS))
      const before_mb = memoryOf(daemon.pid).anonymous_mb
      const followers = await follow(bench, held)
      kilobytes.push(((memoryOf(daemon.pid).anonymous_mb - before_mb) * 1_024) / CLIENTS)
      const [began_ms, began_s, told] = [performance.now(), cpuOf(daemon.pid), followers.told.events]
      beside.push(await latencyAt(target, PER_SECOND, SECONDS))
      const seconds = (performance.now() - began_ms) / 1_000
      share = (cpuOf(daemon.pid) - began_s) / seconds
      events = (followers.told.events - told) / seconds
      for (const socket of followers.sockets) socket.destroy()
      await until(
        'their end',
        () => daemon.call('GET', '/ping').catch(() => ({ status: 0 })),
        ({ status }) => status === 200,
      )
    }
    const ratios = beside.map((value, round) => value / (alone[round] ?? value))
    const head = [
      'clients',
      'KB per client',
      'p99 ms alone',
      'p99 ms beside them',
      'ratio',
      'events/s',
      'of one processor',
    ]
    table(`Streams: ${whole(SERVERS)} servers, ${whole(PER_SECOND)} live polls/s`, head, [
      [
        whole(CLIENTS),
        spread(kilobytes),
        spread(alone, 2),
        spread(beside, 2),
        spread(ratios, 2),
        whole(events),
        `${(100 * share).toFixed(0)} %`,
      ],
    ])
  } finally {
    rest()
    await bench.stop()
  }
}

if (import.meta.main) await run()
