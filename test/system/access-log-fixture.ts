import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { LOG_RING } from '../../src/drivers/haproxy/access-log.ts'
import type { LogSetting } from '../../src/model/access-log.ts'
import type { ConfigView } from '../../src/model/sections.ts'
import type { LogRow } from '../../storage/logs/row.ts'
import type { SyslogAddress } from '../../workers/logs/syslog-connection.ts'
import type { ServerState } from '../../workers/logs/forwarder.ts'
import type { Forwarding, FromLogThread, LogsPage } from '../../workers/logs/messages.ts'
import { LogThread } from '../../workers/logs/thread.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { freePort, httpServer } from '../fixtures/traffic.ts'
import { until } from '../fixtures/until.ts'
import { viewOf } from '../fixtures/view.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'

/** A site with an access log behind a real HAProxy, a reader of its lines, and clients. */

export const LIMITS = { bytes_max: 64 * 1024 * 1024, age_ms: 86_400_000 }

export async function site(test: Test, logs: LogSetting = { enabled: true }) {
  const originPort = await httpServer(test, (_request, answer) => void answer.end('ok'))
  const port = await freePort()
  const view = (more: object = {}): ConfigView =>
    viewOf({
      realServers: [realServer('web', { ip: '127.0.0.1', port: originPort })],
      l7Frontends: [frontend('shop', 'servers', { ip: '127.0.0.1', ports: String(port), logs, ...more })],
      l7Backends: [backend('servers', ['web'])],
    })
  const haproxy = haproxyFixture(test)
  const applied = await haproxy.apply(undefined, view(), 'reload')
  test.equal(applied.ok, true, 'HAProxy accepts the configuration')
  return { haproxy, view, port }
}

export const forwardingTo = (address: SyslogAddress | undefined): Forwarding => ({
  address,
  names: { l7Frontends: new Map([['shop', 'The shop']]), l7Backends: new Map(), realServers: new Map() },
})

/** The code of the log thread, run without a thread of its own. */
export function reader(
  test: Test,
  { folder, paths }: ReturnType<typeof haproxyFixture>,
  directory = join(folder, 'logs'),
  address?: SyslogAddress,
) {
  const { masterSocket, statsSocket } = paths
  const waiting = new Map<number, { resolve: (page: LogsPage) => void; reject: (error: Error) => void }>()
  const warnings: string[] = []
  const states: ServerState[] = []
  const source = { masterSocket, statsSocket, ring: LOG_RING }
  const thread = new LogThread(
    { directory, limits: LIMITS, source, forwarding: forwardingTo(address) },
    (message: FromLogThread) => {
      if (message.type === 'server') states.push(message.state)
      if (message.type === 'page') waiting.get(message.request)?.resolve(message.answer)
      if (message.type === 'failed') waiting.get(message.request)?.reject(new Error(message.reason))
      if (message.type === 'warning') warnings.push(message.message)
    },
  )
  thread.run()
  let stopped: Promise<void> | undefined
  const stop = () => (stopped ??= thread.stop())
  test.teardown(stop)
  let request = 0
  const page = (limit = 100_000): Promise<LogsPage> =>
    new Promise((resolve, reject) => {
      waiting.set(++request, { resolve, reject })
      thread.receive({ type: 'search', request, filter: {}, limit, after: undefined })
    })
  /** Waits for so many rows, including lines counted as lost; returns the rows, oldest first. */
  const rows = async (count: number): Promise<readonly LogRow[]> => {
    const isThere = (found: LogsPage) => found.rows.length + found.losses.lost >= count
    const found = await until(`${count} rows`, () => page(), isThere)
    return found.rows.map(({ row }) => row).toReversed()
  }
  return { thread, page, rows, stop, warnings, states }
}

/** The log thread in a process that can be killed. */
export async function readerApart(
  test: Test,
  { folder, paths }: ReturnType<typeof haproxyFixture>,
  address: SyslogAddress | null = null,
) {
  const { masterSocket, statsSocket } = paths
  const source = { masterSocket, statsSocket, ring: LOG_RING }
  const options = JSON.stringify({ directory: join(folder, 'logs'), limits: LIMITS, source })
  const file = new URL('../../workers/logs/thread.ts', import.meta.url).href
  const code = `const { LogThread } = await import('${file}')
    const none = new Map()
    const names = { l7Frontends: none, l7Backends: none, realServers: none }
    const forwarding = { address: ${JSON.stringify(address)} ?? undefined, names }
    const thread = new LogThread({ ...${options}, forwarding }, (message) => process.send(message))
    process.on('message', (message) => thread.receive(message))
    process.on('disconnect', () => process.exit())
    thread.run()
    process.send('runs')`
  const argv = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', code]
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await once(child, 'message')
  const waiting: ((page: LogsPage) => void)[] = []
  child.on('message', (message: FromLogThread) => {
    if (message.type === 'page') waiting.shift()?.(message.answer)
  })
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  test.teardown(kill)
  const page = (): Promise<LogsPage> =>
    new Promise((resolve) => {
      waiting.push(resolve)
      child.send({ type: 'search', request: 1, filter: {}, limit: 1_000 })
    })
  return { kill, page }
}

/** Sends the bytes unchanged; resolves with the answer. */
export async function send(port: number, request: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(request)
  return await text(socket).catch(() => '')
}

export const get = (path: string, headers = ''): Buffer =>
  Buffer.from(`GET ${path} HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n${headers}\r\n`, 'latin1')

/** Clients that send one request after another until they are stopped, and count the answers. */
export function load(test: Test, port: number, clients: number) {
  let [answered, isOver] = [0, false]
  const client = async (): Promise<void> => {
    while (!isOver) {
      const answer = await send(port, get('/load'))
      if (answer.includes(' 200 ')) answered++
    }
  }
  const all = Promise.all(Array.from({ length: clients }, client))
  const stop = async (): Promise<number> => {
    isOver = true
    await all
    return answered
  }
  // After a failure they would keep the process alive.
  test.teardown(stop)
  return { stop, answered: () => answered }
}
