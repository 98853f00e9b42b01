import { createServer } from 'node:net'
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import t, { type Test } from 'tap'
import { ApiListeners } from '../../src/api-listeners.ts'
import { ensureCertificate } from '../../src/certificate.ts'
import { success } from '../../src/http/envelope.ts'
import { silentLog } from '../../src/log.ts'
import type { Records } from '../view-fixture.ts'
import { temporaryFolder } from '../config-fixture.ts'
import { viewOf } from '../view-fixture.ts'

const LOOPBACK = '127.0.0.1'

function get(host: string, port: number, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host, port, path: '/api/v1/ping', rejectUnauthorized: false, agent }, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject)
    sent.end()
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, LOOPBACK)
  await once(server, 'listening')
  const { port } = Object(server.address()) as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

const stored = (apiPort: number, ipId = ''): Records => ({
  userInterfaces: [{ id: 'n', apiPort, ipId, SSLCertificate: '', sshEnabled: true, sshPort: 22 }],
  staticIps: [
    { id: 'two', nodeId: 'n', groupId: 'g', ip: '127.0.0.2', externalPingCheck: false },
    { id: 'away', nodeId: 'n', groupId: 'g', ip: '192.0.2.1', externalPingCheck: false },
  ],
})

async function fixture(test: Test, records: Records = {}, host = LOOPBACK) {
  const folder = temporaryFolder(test, 'listeners')
  const held: (() => void)[] = []
  const state = { isSlow: false, running: viewOf(records) }
  const port = await freePort()
  const listeners = new ApiListeners({
    settings: { profile: 'appliance', listen: { host, port }, http: undefined },
    nodeId: 'n',
    running: { get: (section, id) => state.running.get(section, id), list: (section) => state.running.list(section) },
    handle: async () => {
      if (state.isSlow) await new Promise<void>((resolve) => held.push(resolve))
      return success(200, 'pong', [])
    },
    nextId: () => 'id',
    tls: () => ensureCertificate(folder, [LOOPBACK]),
    log: silentLog,
  })
  test.teardown(() => listeners.close())
  await listeners.open()
  return { listeners, state, held, port }
}

t.test('a new port answers before the old one closes; requests in flight are answered', async (test) => {
  const { listeners, state, held, port } = await fixture(test)
  const agent = new Agent({ keepAlive: true })
  test.teardown(() => agent.destroy())
  test.equal(await get(LOOPBACK, port, agent), 200)
  state.isSlow = true
  const inFlight = get(LOOPBACK, port, agent)
  while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  state.isSlow = false
  const next = await freePort()
  const change = await listeners.enact(state.running, viewOf(stored(next)))
  test.equal(listeners.port, next)
  test.equal(await get(LOOPBACK, next, agent), 200, 'the new place answers')
  test.equal(await get(LOOPBACK, port, agent), 200, 'and the old one still does')
  change?.keep()
  for (const release of held) release()
  test.equal(await inFlight, 200)
  await test.rejects(get(LOOPBACK, port, new Agent()), { code: 'ECONNREFUSED' })
})

t.test('an address that is not there reverts: the old place stays, nothing else is open', async (test) => {
  const { listeners, state, port } = await fixture(test)
  await test.rejects(listeners.enact(state.running, viewOf(stored(await freePort(), 'away'))), /not on this machine/)
  test.equal(listeners.port, port)
  test.equal(await get(LOOPBACK, port, new Agent()), 200)
  const taken = createServer().listen(0, LOOPBACK)
  await once(taken, 'listening')
  test.teardown(() => taken.close())
  const strangers = (Object(taken.address()) as { port: number }).port
  await test.rejects(listeners.enact(state.running, viewOf(stored(strangers))), /in use/)
})

t.test('what is taken back was never more than a second place', async (test) => {
  const { listeners, state, port } = await fixture(test)
  const next = await freePort()
  const change = await listeners.enact(state.running, viewOf(stored(next, 'two')))
  change?.takeBack()
  test.equal(listeners.port, port)
  await test.rejects(get('127.0.0.2', next, new Agent()), { code: 'ECONNREFUSED' })
  test.equal(await get(LOOPBACK, port, new Agent()), 200)
  test.equal(await listeners.enact(state.running, state.running), undefined, 'the same place is nothing to do')
})

t.test('from every address to one of them on the same port, under requests: none fails', async (test) => {
  const { listeners, state, port } = await fixture(test, {}, '0.0.0.0')
  let isOver = false
  let served = 0
  const failures: unknown[] = []
  const clients = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      await get('127.0.0.2', port, new Agent()).then(
        () => (served += 1),
        (error: unknown) => failures.push(error),
      )
    }
  })
  const change = await listeners.enact(state.running, viewOf(stored(port, 'two')))
  change?.keep()
  await get('127.0.0.2', port, new Agent())
  isOver = true
  await Promise.all(clients)
  test.same(failures, [])
  test.ok(served > 0, `${served} requests`)
  await test.rejects(get('127.0.0.3', port, new Agent()), { code: 'ECONNREFUSED' })
})

t.test(
  'a start on a stored place; one that cannot be had falls back to the command line and is tried again',
  async (test) => {
    const next = await freePort()
    const there = await fixture(test, stored(next, 'two'))
    test.equal(await get('127.0.0.2', next, new Agent()), 200)
    await there.listeners.settle()
    test.equal(there.listeners.port, next)
    const later = await freePort()
    const away = await fixture(test, stored(later, 'away'))
    test.equal(away.listeners.port, away.port)
    away.state.running = viewOf(stored(later, 'two'))
    await away.listeners.settle()
    test.equal(await get('127.0.0.2', later, new Agent()), 200)
  },
)
