import t from 'tap'
import { newNodeRequest } from '../../../src/cluster/authority.ts'
import { pinOf } from '../../../src/cluster/node-certificate.ts'
import {
  CALLER,
  get,
  headOf,
  peerErrorOf,
  rawAnswer,
  rawSession,
  TestCluster,
  testNode,
  textOf,
} from '../../fixtures/peers.ts'
import { untilHolds } from '../../fixtures/until.ts'

t.test('a certificate of the cluster is not enough: the node has to be a member', async (test) => {
  const cluster = await TestCluster.make()
  const asked: string[] = []
  const server = await cluster.serve(test, ({ path }) => {
    asked.push(path)
    return { status: 200, headers: {} }
  })
  const stranger = await testNode(cluster.authority, 'lb3')
  const client = cluster.client(test, server.port, { self: 'lb3', credentials: stranger.credentials })
  test.match(await peerErrorOf(client.forward(get('/a'))), { kind: 'unreachable', message: /it closed the connection/ })
  // A member's key under the name of another one.
  cluster.members.set(stranger.pin, 'lb4')
  const other = cluster.client(test, server.port, { self: 'lb3', credentials: stranger.credentials })
  test.equal((await peerErrorOf(other.forward(get('/a')))).kind, 'unreachable')
  await untilHolds(() => server.connections === 0)
  test.same(asked, [])
  cluster.members.set(stranger.pin, 'lb3')
  const third = cluster.client(test, server.port, { self: 'lb3', credentials: stranger.credentials })
  test.equal((await third.forward(get('/a'))).status, 200)
})

t.test('a renewed certificate has the same key, and another key is another node', async (test) => {
  const cluster = await TestCluster.make()
  const server = await cluster.serve(test, () => ({ status: 200, headers: {} }))
  const { request, key } = await newNodeRequest()
  const certificate = await cluster.authority.issue(request, { nodeId: 'lb1', addresses: [] }, Date.now())
  const credentials = { ...cluster.lb1.credentials, key, certificate }
  test.equal(
    (await peerErrorOf(cluster.client(test, server.port, { credentials }).forward(get('/a')))).kind,
    'unreachable',
  )
  cluster.members.set(pinOf(certificate), 'lb1')
  const client = cluster.client(test, server.port, { credentials })
  test.equal((await client.forward(get('/a'))).status, 200)
  const again = await cluster.authority.issue(request, { nodeId: 'lb1', addresses: [] }, Date.now())
  const renewed = cluster.client(test, server.port, { credentials: { ...credentials, certificate: again } })
  test.equal((await renewed.forward(get('/a'))).status, 200)
})

for (const how of ['told', 'asked', 'looked at'] as const) {
  t.test(`a node that is removed while it is connected is locked out: ${how}`, async (test) => {
    const cluster = await TestCluster.make()
    const asked: string[] = []
    let isAborted = false
    const server = await cluster.serve(
      test,
      ({ path, signal }) => {
        asked.push(path)
        signal.addEventListener('abort', () => (isAborted = true))
        return { status: 200, headers: {}, body: goesOn() }
      },
      { bounds: how === 'looked at' ? { look_ms: 5 } : {} },
    )
    const client = cluster.client(test, server.port)
    const answer = await client.forward(get('/events'))
    test.equal(await firstOf(answer.body), 'begun')
    cluster.members.delete(cluster.lb1.pin)
    if (how === 'told') server.recheck()
    if (how === 'asked') test.equal((await peerErrorOf(client.forward(get('/b')))).kind, 'lost')
    test.equal((await peerErrorOf(textOf(answer.body))).kind, 'lost')
    await untilHolds(() => server.connections === 0)
    test.equal((await peerErrorOf(client.forward(get('/c')))).kind, 'unreachable')
    test.same(asked, ['/events'])
    await untilHolds(() => isAborted)
  })
}

async function* goesOn(): AsyncGenerator<string> {
  yield 'begun'
  await new Promise(() => undefined)
}

async function firstOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const first = await body[Symbol.asyncIterator]().next()
  return String(first.value)
}

t.test('a silent session ends, one with pings does not', async (test) => {
  const cluster = await TestCluster.make()
  const server = await cluster.serve(test, () => ({ status: 200, headers: {} }), {
    bounds: { look_ms: 5, silentLooks_max: 4 },
  })
  const silent = rawSession(test, cluster.lb1.credentials, server.port)
  await new Promise((resolve) => silent.once('close', resolve))
  await untilHolds(() => server.connections === 0)
  let looks = 0
  const memberOf = (pin: string) => {
    looks += 1
    return cluster.memberOf(pin)
  }
  const patient = await cluster.serve(test, () => ({ status: 200, headers: {} }), {
    memberOf,
    bounds: { look_ms: 5, silentLooks_max: 40 },
  })
  const client = cluster.client(test, patient.port, { patience: { ping_ms: 5 } })
  await client.forward(get('/a'))
  await untilHolds(() => looks > 120)
  test.equal(patient.connections, 1)
  test.ok(client.livenessOf('lb2').isReachable)
})

t.test('an invalid request is refused with a reason, and the session stays open', async (test) => {
  const cluster = await TestCluster.make()
  const asked: string[] = []
  const server = await cluster.serve(test, ({ path }) => {
    asked.push(path)
    return { status: 200, headers: {} }
  })
  const session = rawSession(test, cluster.lb1.credentials, server.port)
  const refused = [
    ...['//evil.example/a', '/a/../b', '/a/%2e%2e/b', '/a#b'].map((path) => ({ ':path': path })),
    { ':method': 'PATCH' },
    { 'fulcrum-who': undefined },
    { 'fulcrum-who': 'x' },
    { 'fulcrum-who': Buffer.from(JSON.stringify(CALLER)).toString('base64url') },
    { 'fulcrum-who': Buffer.from(JSON.stringify({ ...CALLER, via: 'lb3' })).toString('base64url') },
    { 'fulcrum-request-id': undefined },
    { 'fulcrum-request-id': 'a b' },
  ]
  for (const more of refused) {
    const { head } = await rawAnswer(session, headOf(more))
    test.match(head, { ':status': 400, 'fulcrum-refused': /^[A-Z]/ }, JSON.stringify(more))
  }
  test.same(asked, [])
  test.equal((await rawAnswer(session, headOf())).head?.[':status'], 200)
  test.same(asked, ['/a'])
})

t.test('heads that HTTP/2 forbids, or that are too long, do not get through', async (test) => {
  const cluster = await TestCluster.make()
  const asked: string[] = []
  const server = await cluster.serve(test, ({ path, headers }) => {
    asked.push(path, ...Object.keys(headers))
    return { status: 200, headers: {} }
  })
  const forbidden = [
    ...['http://evil.example/a', 'a', '*'].map((path) => ({ ':path': path })),
    { ':path': '/a\r\nauthorization: x' },
    { accept: 'a\0' },
    Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`x-${index}`, 'x'.repeat(2_000)])),
    Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-${index}`, 'x'])),
  ]
  for (const more of forbidden) {
    const session = rawSession(test, cluster.lb1.credentials, server.port)
    const outcome = await rawAnswer(session, headOf(more)).catch(() => undefined)
    test.not(outcome?.head?.[':status'], 200, Object.keys(more).join(' ').slice(0, 40))
    session.destroy()
  }
  const session = rawSession(test, cluster.lb1.credentials, server.port)
  const connecting = session.request({ ':method': 'CONNECT', ':authority': 'evil.example:80' })
  connecting.on('error', () => undefined)
  connecting.resume().end()
  await new Promise((resolve) => connecting.once('close', resolve))
  test.same(asked, [])
  // A plain header with such a value is dropped completely.
  await rawAnswer(session, headOf({ accept: 'a\r\nauthorization: x' }))
  test.same(asked, ['/a'])
})

t.test('closing ends running requests, and the port is free', async (test) => {
  const cluster = await TestCluster.make()
  const server = await cluster.serve(test, () => ({ status: 200, headers: {}, body: goesOn() }))
  const client = cluster.client(test, server.port)
  const answer = await client.forward(get('/events'))
  await server.close()
  test.equal((await peerErrorOf(textOf(answer.body))).kind, 'lost')
  const next = await cluster.serve(test, () => ({ status: 204, headers: {} }), {
    address: { host: '127.0.0.1', port: server.port },
  })
  test.equal(next.port, server.port)
  await test.rejects(
    cluster.serve(test, () => ({ status: 204, headers: {} }), { address: { host: '127.0.0.1', port: next.port } }),
    { code: 'EADDRINUSE' },
  )
})

t.test('another certificate is presented from the next session on', async (test) => {
  const cluster = await TestCluster.make()
  const server = await cluster.serve(test, () => ({ status: 204, headers: {} }))
  const other = await testNode(cluster.authority, 'lb3')
  server.present(other.credentials)
  const client = cluster.client(test, server.port)
  test.match(await peerErrorOf(client.forward(get('/a'))), { kind: 'unreachable', message: /another node/ })
})
