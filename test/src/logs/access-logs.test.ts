import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer as createCollector } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LOG_RING } from '../../../src/drivers/haproxy/access-log.ts'
import { AccessLogs, type AccessLogsParts } from '../../../src/logs/access-logs.ts'
import type { LogSetting } from '../../../src/model/access-log.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import { NO_SYSLOG_SERVER } from '../../../src/model/syslog-server.ts'
import { backend, frontend, realServer } from '../../fixtures/config.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog, silentLog } from '../../../src/base/log.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { freePort, httpServer } from '../../fixtures/traffic.ts'
import { viewOf } from '../../fixtures/view.ts'
import { haproxyFixture } from '../../workers/host/haproxy-fixture.ts'

async function site(test: Test, logs: LogSetting) {
  const originPort = await httpServer(test, (_request, answer) => void answer.end('ok'))
  const port = await freePort()
  const records = {
    realServers: [realServer('web', { ip: '127.0.0.1', port: originPort })],
    l7Frontends: [frontend('shop', 'servers', { ports: String(port), logs })],
    l7Backends: [backend('servers', ['web'])],
  }
  const haproxy = haproxyFixture(test)
  await haproxy.apply(undefined, viewOf(records), 'reload')
  const begin = (parts: Pick<AccessLogsParts, 'running' | 'runningVersion' | 'onServer'>) => {
    const { masterSocket, statsSocket } = haproxy.paths
    const limits = { bytes_max: 1_000_000, age_ms: 86_400_000 }
    const source = { masterSocket, statsSocket, ring: LOG_RING }
    const accessLogs = new AccessLogs({
      ...parts,
      stateFolder: haproxy.folder,
      limits,
      source,
      clock: systemClock,
      log: silentLog,
    })
    accessLogs.start()
    test.teardown(() => accessLogs.close())
    return accessLogs
  }
  return { port, records, begin }
}

t.test('lines of a real HAProxy are followed and found, and unused nodes have no thread', async (test) => {
  const { port, records, begin } = await site(test, { enabled: true })
  const logs = begin({ running: viewOf(records), runningVersion: () => 1, onServer: () => undefined })
  let [followed, stop] = ['', () => {}]
  const told = new Promise<void>((resolve) => {
    const write = (text: string) => {
      followed += text
      if (followed.includes('/wanted')) resolve()
    }
    stop = logs.stream({ path: 'wanted' })({ write, end: () => undefined })
  })
  for (const path of ['/other', '/wanted?token=s']) await fetch(`http://127.0.0.1:${port}${path}`)
  await told
  stop()
  await logs.capture()
  test.pass('the end of a capture')
  test.match(followed, /event: line\ndata: \{.*"path":"\/wanted\?token=\*\*"/)
  test.notMatch(followed, /other/)
  const { lines, next } = await logs.search({ limit: 10 })
  test.strictSame([lines.map(({ path }) => path), next], [['/wanted?token=**', '/other'], undefined])
  test.match(await logs.top({ limit: 1 }), { lines: 2, status: [{ status: 200, count: 2 }] })
})

t.test('lines are sent to the current syslog server, and an unreachable one is reported', async (test) => {
  const { port, records, begin } = await site(test, { enabled: true, target: 'both' })
  const server = createCollector()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  test.teardown(() => server.close())
  // Sound: it listens on a port.
  const { port: there } = server.address() as AddressInfo
  const at = (to: number) => {
    const plain = { id: 'cluster', ...NO_SYSLOG_SERVER, host: '127.0.0.1', port: to, transport: 'tcp' } as const
    return viewOf({ ...records, syslogServers: [plain] })
  }
  let [version, now] = [1, at(await freePort())]
  const running: ConfigView = { get: (section, id) => now.get(section, id), list: (section) => now.list(section) }
  const told: boolean[] = []
  let tell = () => {}
  const onServer = ({ isReached }: { readonly isReached: boolean }) => {
    told.push(isReached)
    tell()
  }
  const unreached = new Promise<void>((resolve) => (tell = resolve))
  const logs = begin({ running, runningVersion: () => version, onServer })
  await fetch(`http://127.0.0.1:${port}/a`)
  await unreached
  const received = new Promise<string>((resolve) => {
    server.on('connection', (socket) => socket.on('data', (bytes) => resolve(bytes.toString())))
  })
  now = at(there)
  version = 2
  await logs.capture()
  test.match(await received, /^\d+ <134>1 .* fulcrum shop access - \{.*"frontendName":"shop".*"path":"\/a"/)
  const losses = { lost: 0, unreadable: 0, unstored: 0, unforwarded: 0, uncertain: 0 }
  test.match([told, await logs.search({ limit: 10 })], [[false, true], { lines: [{ path: '/a' }], losses }])
})

t.test('a thread that fails repeatedly is restarted after growing pauses', async (test) => {
  const stateFolder = join(temporaryFolder(test, 'logs'), 'file')
  writeFileSync(stateFolder, 'no folder')
  const source = { masterSocket: '/nowhere/m', statsSocket: '/nowhere/s', ring: 'r' }
  const running = viewOf({ l7Frontends: [frontend('shop', null, { logs: { enabled: true } })] })
  const [clock, pauses] = [manualClock(), [] as unknown[]]
  const log = createLog((line) => pauses.push(JSON.parse(line).pause_ms))
  const onServer = () => undefined
  const limits = { bytes_max: 1_000_000, age_ms: 86_400_000 }
  const parts = { stateFolder, running, runningVersion: () => 1, limits, source, onServer, clock, log }
  const logs = new AccessLogs(parts)
  test.teardown(() => logs.close())
  await logs.capture()
  await logs.capture()
  await test.rejects(logs.search({ limit: 1 }), /the log thread is being restarted: .*ENOTDIR/)
  test.strictSame(pauses, [250])
  clock.advance(250)
  await test.rejects(logs.search({ limit: 1 }), /the log thread failed: .*ENOTDIR/)
  await logs.capture()
  test.strictSame(pauses, [250, 500])
})
