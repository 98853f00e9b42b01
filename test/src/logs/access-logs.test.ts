import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { LOG_RING } from '../../../src/drivers/haproxy/access-log.ts'
import { AccessLogs } from '../../../src/logs/access-logs.ts'
import { backend, frontend, realServer } from '../../fixtures/config.ts'
import { silentLog } from '../../../src/base/log.ts'
import { freePort } from '../../fixtures/traffic.ts'
import { viewOf } from '../../fixtures/view.ts'
import { haproxyFixture } from '../../workers/host/haproxy-fixture.ts'

t.test('lines of a real HAProxy are followed and found, and who needs no thread has none', async (test) => {
  const origin = createServer((_request, answer) => answer.end('ok'))
  await once(origin.listen(0, '127.0.0.1'), 'listening')
  test.teardown(() => origin.close())
  // Sound: it listens on a port.
  const { port: originPort } = origin.address() as AddressInfo
  const port = await freePort()
  const running = viewOf({
    realServers: [realServer('web', { ip: '127.0.0.1', port: originPort })],
    l7Frontends: [frontend('shop', 'servers', { ports: String(port), logs: { enabled: true } })],
    l7Backends: [backend('servers', ['web'])],
  })
  const haproxy = haproxyFixture(test)
  await haproxy.apply(undefined, running, 'reload')
  const { masterSocket, statsSocket } = haproxy.paths
  const logs = new AccessLogs({
    stateFolder: haproxy.folder,
    running,
    runningVersion: () => 1,
    limits: { bytes_max: 1_000_000, age_ms: 86_400_000 },
    source: { masterSocket, statsSocket, ring: LOG_RING },
    onServer: () => undefined,
    log: silentLog,
  })
  logs.start()
  test.teardown(() => logs.close())
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
  test.pass('a capture ends')
  test.match(followed, /event: line\ndata: \{.*"path":"\/wanted\?token=\*\*"/)
  test.notMatch(followed, /other/)
  const { lines, next } = await logs.search({ limit: 10 })
  test.strictSame([lines.map(({ path }) => path), next], [['/wanted?token=**', '/other'], undefined])
  test.match(await logs.top({ limit: 1 }), { lines: 2, statuses: [{ status: 200, count: 2 }] })
})
