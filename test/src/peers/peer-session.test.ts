import { once } from 'node:events'
import { createServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import t, { type Test } from 'tap'
import type { Patience, Peer } from '../../../src/peers/peer-session.ts'
import { newAuthority } from '../../fixtures/cluster-authority.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { get, lineTo, peerErrorOf, portOf, rawServer, TestCluster, testNode, textOf } from '../../fixtures/peers.ts'
import { untilHolds } from '../../fixtures/until.ts'

const cluster = await TestCluster.make()

const ok = () => ({ status: 200, headers: {}, body: 'ok' })

async function* goesOn(): AsyncGenerator<string> {
  yield 'begun'
  await new Promise(() => undefined)
}

/** A closed port, which was open for a moment. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const port = portOf(server)
  server.close()
  await once(server, 'close')
  return port
}

async function mutePort(test: Test): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    test.teardown(() => socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => server.close())
  return portOf(server)
}

/** Accepts connections and ends them. */
async function refusingPort(test: Test): Promise<{ readonly port: number; readonly tries: number }> {
  let tries = 0
  const server = createServer((socket) => {
    tries += 1
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => server.close())
  return {
    port: portOf(server),
    get tries() {
      return tries
    },
  }
}

t.test('an unreachable node: its name, since when, and why', async (test) => {
  const clock = manualClock()
  const since = new Date(clock.now_ms()).toISOString()
  const client = cluster.client(test, await closedPort(), { clock })
  for (let count = 0; count < 2; count++) {
    test.match(await peerErrorOf(client.forward(get('/a'))), {
      kind: 'unreachable',
      message: `The node Load balancer 2 cannot be reached since ${since}: it refuses connections`,
      facts: { nodeId: 'lb2', since_ms: clock.now_ms() - count * 1_000 },
    })
    clock.advance(1_000)
  }
  test.match(client.livenessOf('lb2'), { isReachable: false, heard_ms: undefined, why: 'it refuses connections' })
})

t.test('it accepts the connection and stays silent, at any depth', async (test) => {
  const patience = { accept_ms: 50 }
  const mute = await mutePort(test)
  const late = await peerErrorOf(cluster.client(test, mute, { patience }).forward(get('/a')))
  test.match(late, { kind: 'unreachable', message: /it accepted no connection within 50 ms/ })
  // TLS succeeds, and HTTP/2 does not begin.
  const { key, certificate, ca } = cluster.lb2.credentials
  const tls = createTlsServer({ key, cert: certificate, ca, requestCert: true, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => undefined)
    test.teardown(() => socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(tls, 'listening')
  test.teardown(() => tls.close())
  const client = cluster.client(test, portOf(tls), { patience: { accept_ms: 200 } })
  test.match((await peerErrorOf(client.forward(get('/a')))).message, /no connection within 200 ms/)
})

t.test('the answering node has to be exactly that one', async (test) => {
  const seen: string[] = []
  const serve = (credentials = cluster.lb2.credentials) =>
    rawServer(test, credentials, (stream) => {
      seen.push('a request')
      stream.respond({ ':status': 200 }, { endStream: true })
    })
  const told = async (port: number, peer: Partial<Peer> = {}) => {
    const client = cluster.client(test, port, { peerOf: () => ({ ...cluster.peer(port), ...peer }) })
    return (await peerErrorOf(client.forward(get('/a')))).message
  }
  const { authority, lb1 } = cluster
  const stranger = await testNode(await newAuthority(), 'lb2')
  test.match(await told(await serve(stranger.credentials)), /its certificate is not accepted/, 'of another cluster')
  test.match(await told(await serve(lb1.credentials), { pin: lb1.pin }), /another node/, 'the pin, and another id')
  test.match(
    await told(await serve((await testNode(authority, 'lb2')).credentials)),
    /another node/,
    'the id, and another pin',
  )
  test.match(await told(await serve(), { pin: '' }), /another node/, 'a node without a pin')
  test.same(seen, [])
  const { key, certificate, ca } = cluster.lb2.credentials
  const other = createTlsServer({ key, cert: certificate, ca }).listen(0, '127.0.0.1')
  await once(other, 'listening')
  test.teardown(() => other.close())
  test.match(await told(portOf(other)), /the program that answers there is not a node/)
})

t.test('a node that falls silent is lost, together with its open requests', async (test) => {
  const server = await cluster.serve(test, () => ({ status: 200, headers: {}, body: goesOn() }))
  const line = await lineTo(test, server.port)
  const client = cluster.client(test, line.port, { patience: { ping_ms: 10, silent_ms: 500 } })
  const { body } = await client.forward(get('/events'))
  line.mute()
  const amid = peerErrorOf(textOf(body))
  const before = peerErrorOf(client.forward(get('/b')))
  for (const error of [await amid, await before]) {
    test.match(error, {
      kind: 'lost',
      message: /is lost since .*Z: it did not answer for 500 ms; it is unknown whether/,
    })
  }
  test.match(client.livenessOf('lb2'), { isReachable: false, why: 'it did not answer for 500 ms' })
})

t.test('pings keep a quiet session, and show when it was heard last', async (test) => {
  const server = await cluster.serve(test, ok)
  const clock = manualClock()
  const client = cluster.client(test, server.port, { clock, patience: { ping_ms: 5 } })
  await textOf((await client.forward(get('/a'))).body)
  for (let count = 0; count < 3; count++) {
    clock.advance(60_000)
    await untilHolds(() => client.livenessOf('lb2').heard_ms === clock.now_ms())
  }
  test.match(client.livenessOf('lb2'), { isReachable: true, why: undefined })
  test.equal(server.connections, 1)
})

t.test('in a pause no request waits; while there are requests, it retries itself, ever more rarely', async (test) => {
  const clock = manualClock()
  const [refusing, beside] = [await refusingPort(test), await refusingPort(test)]
  const paused = cluster.client(test, refusing.port, { clock })
  for (let count = 0; count < 5; count++) {
    test.match(await peerErrorOf(paused.forward(get('/a'))), {
      kind: 'unreachable',
      message: /it closed the connection/,
    })
  }
  test.equal(refusing.tries, 1)
  const patience: Partial<Patience> = { pause_min_ms: 1, pause_max_ms: 8, wanted_ms: 1_000 }
  const client = cluster.client(test, refusing.port, { clock, patience })
  await peerErrorOf(client.forward(get('/a')))
  await untilHolds(() => refusing.tries >= 8)
  // There are no more requests; another node has some, so time passes.
  clock.advance(2_000)
  const before = refusing.tries
  const other = cluster.client(test, beside.port, { clock, patience })
  await peerErrorOf(other.forward(get('/a')))
  await untilHolds(() => beside.tries >= 20)
  test.ok(refusing.tries <= before + 1)
})

t.test('with keep, a node that comes back is connected without a request', async (test) => {
  const first = await cluster.serve(test, ok)
  const { port } = first
  const client = cluster.client(test, port, { patience: { pause_min_ms: 1, pause_max_ms: 5, wanted_ms: 0 } })
  client.keep(['lb2'])
  await untilHolds(() => client.livenessOf('lb2').isReachable)
  await first.close()
  await untilHolds(() => !client.livenessOf('lb2').isReachable)
  const second = await cluster.serve(test, ok, { address: { host: '127.0.0.1', port } })
  await untilHolds(() => second.connections === 1 && client.livenessOf('lb2').isReachable)
  client.keep([])
  await untilHolds(() => second.connections === 0)
})

t.test("a session follows the log's record of the node", async (test) => {
  const [first, second] = [
    await cluster.serve(test, ok),
    await cluster.serve(test, () => ({ ...ok(), body: 'second' })),
  ]
  let peer: Peer | undefined = cluster.peer(first.port)
  const client = cluster.client(test, 0, { peerOf: () => peer })
  await client.forward(get('/a'))
  peer = { ...cluster.peer(second.port), name: 'Renamed' }
  client.recheck()
  await untilHolds(() => first.connections === 0)
  test.equal(await textOf((await client.forward(get('/a'))).body), 'second')
  peer = undefined
  client.recheck()
  await untilHolds(() => second.connections === 0)
  test.match(await peerErrorOf(client.forward(get('/a'))), { kind: 'refused', message: /no other node with this id/ })
})

t.test('without a notice, the next ping reveals that a node was removed', async (test) => {
  const server = await cluster.serve(test, ok)
  let peer: Peer | undefined = cluster.peer(server.port)
  const client = cluster.client(test, 0, { peerOf: () => peer, patience: { ping_ms: 5 } })
  await client.forward(get('/a'))
  peer = undefined
  await untilHolds(() => server.connections === 0)
})
