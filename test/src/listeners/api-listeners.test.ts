import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { existsSync } from 'node:fs'
import { request as plain } from 'node:http'
import { Agent, request } from 'node:https'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { ApiListeners } from '../../../src/listeners/api-listeners.ts'
import { ensureCertificate } from '../../../src/listeners/own-certificate.ts'
import { success } from '../../../src/http/envelope.ts'
import { createLog, silentLog } from '../../../src/base/log.ts'
import type { Address } from '../../../src/settings.ts'
import { fetchOnce } from '../../fixtures/traffic.ts'
import type { Records } from '../../fixtures/view.ts'
import { certificateRecord } from '../../fixtures/certificate.ts'
import { frontend } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { viewOf } from '../../fixtures/view.ts'
import { untilHolds } from '../../fixtures/until.ts'

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

const stored = (apiPort: number, ipId = '', SSLCertificate = ''): Records => ({
  userInterfaces: [{ id: 'n', apiPort, ipId, SSLCertificate, sshEnabled: true, sshPort: 22 }],
  staticIps: [
    { id: 'two', nodeId: 'n', groupId: 'g', ip: '127.0.0.2', externalPingCheck: false },
    { id: 'away', nodeId: 'n', groupId: 'g', ip: '192.0.2.1', externalPingCheck: false },
  ],
})

const fetchSocket = (socketPath: string) => statusOf({ socketPath })
const statusOf = (place: { readonly socketPath: string } | Address) =>
  new Promise<number>((resolve, reject) => {
    const sent = plain({ ...place, path: '/api/v1/ping', agent: false }, (answer) =>
      resolve(answer.resume().statusCode ?? 0),
    )
    sent.on('error', reject).end()
  })

async function fixture(
  test: Test,
  records: Records = {},
  host = LOOPBACK,
  asked?: number,
  metrics?: Address,
  more: { readonly localSocket?: string; readonly lines?: string[]; readonly before?: ApiListeners } = {},
) {
  const folder = temporaryFolder(test, 'listeners')
  const held: (() => void)[] = []
  const state = { isSlow: false, status: 200, running: viewOf(records) }
  const port = asked ?? (await freePort())
  const listeners = new ApiListeners({
    ofCluster: () => [],
    settings: {
      profile: 'appliance',
      listen: { host, port },
      http: undefined,
      localSocket: more.localSocket ?? join(folder, 'api.sock'),
      metrics,
      frontThreads: 0,
    },
    nodeId: 'n',
    running: { get: (section, id) => state.running.get(section, id), list: (section) => state.running.list(section) },
    handle: async () => {
      if (state.isSlow) await new Promise<void>((resolve) => held.push(resolve))
      return success(state.status, 'pong', [])
    },
    metrics: async () => success(200, 'figures', []),
    nextId: () => 'id',
    tls: () => ensureCertificate(folder, [LOOPBACK]),
    folder,
    log: more.lines === undefined ? silentLog : createLog((line) => more.lines?.push(line)),
  })
  test.teardown(() => listeners.close())
  if (more.before === undefined) await listeners.open()
  else listeners.takeOver(more.before)
  return { listeners, state, held, port, folder }
}

t.test('a new port answers before the old one closes; requests in flight are answered', async (test) => {
  const { listeners, state, held, port } = await fixture(test)
  const agent = new Agent({ keepAlive: true })
  test.teardown(() => agent.destroy())
  test.equal(await get(LOOPBACK, port, agent), 200)
  state.isSlow = true
  const inFlight = get(LOOPBACK, port, agent)
  await untilHolds(() => held.length > 0)
  state.isSlow = false
  const next = await freePort()
  const change = await listeners.enact(state.running, viewOf(stored(next)))
  test.equal(listeners.port, next)
  test.equal(await get(LOOPBACK, next, agent), 200, 'the new address answers')
  test.equal(await get(LOOPBACK, port, agent), 200, 'and the old one still does')
  change?.keep()
  for (const release of held) release()
  test.equal(await inFlight, 200)
  await test.rejects(get(LOOPBACK, port, new Agent()), { code: 'ECONNREFUSED' })
})

t.test('a request between the two is told to retry, and stays connected', async (test) => {
  const place = { host: LOOPBACK, port: await freePort() }
  const { listeners, state, held, port, folder } = await fixture(test, {}, LOOPBACK, undefined, place)
  const agent = new Agent({ keepAlive: true, maxSockets: 2 })
  test.teardown(() => agent.destroy())
  state.isSlow = true
  const inFlight = get(LOOPBACK, port, agent)
  await untilHolds(() => held.length > 0)
  let hasRested = false
  const rested = listeners.rest().then(() => (hasRested = true))
  test.equal(await get(LOOPBACK, port, agent), 503)
  test.equal(await statusOf(place), 503)
  test.equal(await fetchSocket(join(folder, 'api.sock')), 503)
  test.notOk(hasRested, 'earlier requests are answered first')
  for (const release of held) release()
  test.equal(await inFlight, 200)
  await rested
  const next = await fixture(test, {}, LOOPBACK, undefined, place, { before: listeners })
  test.equal(next.listeners.port, port)
  test.equal(await get(LOOPBACK, port, agent), 200)
  test.equal(
    Object.values(agent.sockets).length + Object.values(agent.freeSockets).flat().length,
    2,
    'no new connection',
  )
  test.match((await fetchOnce(place.port)).text, /figures/)
  test.equal(await fetchSocket(join(folder, 'api.sock')), 200)
  const other = await freePort()
  const moved = await next.listeners.enact(state.running, viewOf(stored(other)))
  moved?.keep()
  test.equal(await get(LOOPBACK, other, agent), 200, 'it can still move')
})

t.test('an address for metrics: nothing but them, and no frontend may take its port', async (test) => {
  const place = { host: LOOPBACK, port: await freePort() }
  const { listeners, state } = await fixture(test, {}, LOOPBACK, undefined, place)
  test.match((await fetchOnce(place.port)).text, /figures/)
  test.equal(listeners.all.length, 1, 'it is not an address of the API')
  const taken = viewOf({ l7Frontends: [{ ...frontend('f', null), ip: LOOPBACK, ports: String(place.port) }] })
  test.match(await listeners.verify(state.running, taken), [
    { section: 'l7Frontends', id: 'f', field: 'ports', message: /used by the metrics/ },
  ])
  await listeners.stop()
  await test.rejects(fetchOnce(place.port))
})

t.test('an address for metrics that is added later', async (test) => {
  const holder = createServer().listen(0, LOOPBACK)
  await once(holder, 'listening')
  const { port } = Object(holder.address()) as { port: number }
  const { listeners } = await fixture(test, {}, LOOPBACK, undefined, { host: LOOPBACK, port })
  holder.close()
  await once(holder, 'close')
  await listeners.settle()
  test.match((await fetchOnce(port)).text, /figures/)
})

t.test('a missing address reverts: the old one stays, no other is open', async (test) => {
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

t.test('a reverted address was only ever a second one', async (test) => {
  const { listeners, state, port } = await fixture(test)
  const next = await freePort()
  const change = await listeners.enact(state.running, viewOf(stored(next, 'two')))
  change?.takeBack()
  test.equal(listeners.port, port)
  await test.rejects(get('127.0.0.2', next, new Agent()), { code: 'ECONNREFUSED' })
  test.equal(await get(LOOPBACK, port, new Agent()), 200)
  test.equal(await listeners.enact(state.running, state.running), undefined, 'the same address needs nothing')
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
  'a start on a stored address; one that cannot be opened falls back to the command line and is retried',
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

t.test('a new address that does not answer properly is given up before the old one closes', async (test) => {
  const { listeners, state, port } = await fixture(test)
  const next = await freePort()
  state.status = 500
  await test.rejects(listeners.enact(state.running, viewOf(stored(next))), /answers 500/)
  await test.rejects(get(LOOPBACK, next, new Agent()), { code: 'ECONNREFUSED' })
  test.equal(await get(LOOPBACK, port, new Agent()), 500, 'the old address is still open')
})

t.test('an address that cannot be opened is a problem of its field, before anything changes', async (test) => {
  const { listeners, state, port } = await fixture(test)
  const taken = createServer().listen(0, LOOPBACK)
  await once(taken, 'listening')
  test.teardown(() => taken.close())
  const strangers = (Object(taken.address()) as { port: number }).port
  test.match(await listeners.verify(state.running, viewOf(stored(strangers))), [
    { section: 'userInterfaces', id: 'n', field: 'apiPort', message: /in use/ },
  ])
  test.same(await listeners.verify(state.running, viewOf(stored(await freePort()))), [])
  test.same(await listeners.verify(state.running, viewOf(stored(port))), [], 'its own port')
  test.same(await listeners.verify(state.running, viewOf(stored(port, 'away'))), [], 'an address that is added with it')
  const inTheWay = { ...stored(port), l7Frontends: [frontend('f', null, { ports: String(port) })] }
  test.match(await listeners.verify(state.running, viewOf(inTheWay)), [{ section: 'l7Frontends', id: 'f' }])
})

t.test('neither the stored address nor that of the command line can be opened: it still starts', async (test) => {
  const taken = createServer().listen(0, LOOPBACK)
  await once(taken, 'listening')
  test.teardown(() => taken.close())
  const { port } = Object(taken.address()) as { port: number }
  const { listeners, state } = await fixture(test, stored(await freePort(), 'away'), LOOPBACK, port)
  test.equal(await get(LOOPBACK, listeners.port, new Agent()), 200)
  test.not(listeners.port, port)
  const later = await freePort()
  state.running = viewOf(stored(later, 'two'))
  await listeners.settle()
  test.equal(await get('127.0.0.2', later, new Agent()), 200, 'and moves to the right one when it can')
})

t.test('clients connected to an address that the API leaves', async (test) => {
  const { listeners, state, port } = await fixture(test)
  const moved = viewOf(stored(port, 'two'))
  test.ok(listeners.leaves(state.running, moved, '192.0.2.10'))
  test.notOk(listeners.leaves(state.running, moved, '127.0.0.2'), 'it is the new address')
  test.notOk(listeners.leaves(state.running, viewOf(stored(1)), '192.0.2.10'), 'another port is no other address')
})

t.test('a port that the system chose stays', async (test) => {
  const { listeners } = await fixture(test, {}, LOOPBACK, 0)
  const { port } = listeners
  await listeners.settle()
  test.equal(listeners.port, port)
})

/** Returns the fingerprint of the certificate for a new connection. */
function shown(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: LOOPBACK, port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.end()
    })
    socket.on('error', reject)
  })
}

t.test(
  'another certificate is presented from the next connection on; no request fails, no connection ends',
  async (test) => {
    const { listeners, state, port } = await fixture(test)
    const own = await shown(port)
    const certificates = [await certificateRecord(test, 'one'), await certificateRecord(test, 'two')]
    const showing = (id: string) => viewOf({ ...stored(port, '', id), certificates })
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    test.teardown(() => kept.destroy())
    test.equal(await get(LOOPBACK, port, kept), 200)
    const [socket] = Object.values(kept.freeSockets)[0] ?? []
    let isOver = false
    let served = 0
    const failures: unknown[] = []
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        await get(LOOPBACK, port, new Agent()).then(
          () => (served += 1),
          (error: unknown) => failures.push(error),
        )
      }
    })
    for (const id of ['one', 'two', 'one', '', 'two', '']) {
      const next = showing(id)
      const change = await listeners.enact(state.running, next)
      change?.keep()
      state.running = next
      test.equal(await shown(port), certificates.find((record) => record.id === id)?.facts.fingerprint ?? own, id)
    }
    isOver = true
    await Promise.all(clients)
    test.same(failures, [])
    test.ok(served > 0, `${served} requests`)
    test.equal(await get(LOOPBACK, port, kept), 200)
    test.equal(Object.values(kept.freeSockets)[0]?.[0], socket, 'the earlier connection is still the same')
  },
)

t.test('a reverted certificate is no longer presented; an invalid one changes nothing', async (test) => {
  const { listeners, state, port } = await fixture(test)
  const own = await shown(port)
  const certificate = await certificateRecord(test, 'one')
  const showing = (record: typeof certificate) => viewOf({ ...stored(port, '', 'one'), certificates: [record] })
  const change = await listeners.enact(state.running, showing(certificate))
  test.equal(await shown(port), certificate.facts.fingerprint)
  change?.takeBack()
  test.equal(await shown(port), own)
  const other = await certificateRecord(test, 'two')
  await test.rejects(listeners.enact(state.running, showing({ ...certificate, privateKey: other.privateKey })))
  test.equal(await shown(port), own)
})

t.test('a start presents the stored certificate, and its own when that is invalid', async (test) => {
  const certificate = await certificateRecord(test, 'one')
  const records = (port: number, record: typeof certificate) => ({ ...stored(port, '', 'one'), certificates: [record] })
  const first = await freePort()
  await fixture(test, records(first, certificate))
  test.equal(await shown(first), certificate.facts.fingerprint)
  const second = await freePort()
  await fixture(test, records(second, { ...certificate, privateKey: 'not a key' }))
  test.not(await shown(second), certificate.facts.fingerprint)
})

t.test('the local socket belongs to one daemon; without it the API is available all the same', async (test) => {
  const { listeners, folder } = await fixture(test)
  const socketPath = join(folder, 'api.sock')
  const ask = () => fetchSocket(socketPath)
  test.equal(await ask(), 200)
  const lines: string[] = []
  const other = await fixture(test, {}, '127.0.0.2', undefined, undefined, { localSocket: socketPath, lines })
  test.match(lines.join(), /another process listens on/)
  await other.listeners.close()
  test.equal(await ask(), 200, 'the other one has not removed it')
  const long = join(folder, 'x'.repeat(120))
  await fixture(test, {}, '127.0.0.3', undefined, undefined, { localSocket: long, lines })
  test.match(lines.join(), /but a socket name has at most 107/)
  await listeners.close()
  test.notOk(existsSync(socketPath))
})
