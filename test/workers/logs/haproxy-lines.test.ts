import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { HaproxyLines } from '../../../workers/logs/haproxy-lines.ts'
import { frontend } from '../../fixtures/config.ts'
import { freePort } from '../../fixtures/traffic.ts'
import { viewOf } from '../../fixtures/view.ts'
import { until } from '../../fixtures/until.ts'
import { haproxyFixture } from '../host/haproxy-fixture.ts'

t.test('a HAProxy without logs is asked once for each of its processes, and left alone', async (test) => {
  const haproxy = haproxyFixture(test)
  const ports = String(await freePort())
  const view = (timeoutClient: number) => viewOf({ l7Frontends: [frontend('f', null, { ports, timeoutClient })] })
  await haproxy.apply(undefined, view(30), 'reload')
  const told: number[] = []
  const { masterSocket, statsSocket } = haproxy.paths
  const lines = new HaproxyLines(
    { masterSocket, statsSocket, ring: 'none' },
    {
      line: (text) => test.fail(text),
      tooLong: () => test.fail(),
      again: (pid) => void told.push(pid),
      processes: () => undefined,
    },
  )
  test.teardown(() => lines.close())
  const sessions = async () => (await haproxy.ask('@1 show sess')).match(/proto=unix_stream src=unix:1 /g)?.length ?? 0
  await lines.look()
  await until('the end of the session', sessions, (count) => count === 0)
  await lines.look()
  await lines.look()
  test.equal(told.length, 1)
  await haproxy.apply(view(30), view(31), 'reload')
  await lines.look()
  test.equal(new Set(told).size, 2, 'the next one as well')
})

t.test('without a HAProxy it waits for one', async (test) => {
  const nothing = () => undefined
  const intake = { line: nothing, tooLong: nothing, again: nothing, processes: nothing }
  const lines = new HaproxyLines({ masterSocket: '/nowhere/m', statsSocket: '/nowhere/s', ring: 'none' }, intake)
  await lines.look()
  await lines.look()
  lines.close()
  test.pass('and stays silent')
})

t.test('a hanging worker does not stop others from being read', async (test) => {
  const folder = test.testdir()
  const [masterSocket, statsSocket] = [join(folder, 'm'), join(folder, 's')]
  const worker = 4_194_300
  const processes = [
    '#<PID> <type> <reloads> <uptime> <version>',
    '1 master 0 0d 2.6',
    '# workers',
    `${worker} worker 0 0d 2.6`,
  ]
  await serving(test, masterSocket, (socket) => socket.once('data', () => socket.end(`${processes.join('\n')}\n`)))
  let isHung = true
  await serving(test, statsSocket, (socket) => {
    if (!isHung) socket.once('data', () => socket.write(`Pid: ${worker}\n\n`))
  })
  const told: number[] = []
  const nothing = () => undefined
  const intake = { line: nothing, tooLong: nothing, again: (pid: number) => told.push(pid), processes: nothing }
  const lines = new HaproxyLines({ masterSocket, statsSocket, ring: 'none' }, intake)
  test.teardown(() => lines.close())
  await lines.look()
  test.same(told, [])
  isHung = false
  await lines.look()
  test.same(told, [worker])
})

async function serving(test: Test, path: string, serve: (socket: Socket) => void): Promise<void> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    serve(socket)
  })
  await once(server.listen(path), 'listening')
  test.teardown(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
}
