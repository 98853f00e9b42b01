import t from 'tap'
import { defer } from '../../../src/base/deferred.ts'
import { CALLER, get, peerErrorOf, post, TestCluster, textOf } from '../../fixtures/peers.ts'
import { untilHolds } from '../../fixtures/until.ts'

const cluster = await TestCluster.make()

t.test('1,000 requests at once, in one session', async (test) => {
  const gate = defer()
  let [waiting, most] = [0, 0]
  const server = await cluster.serve(test, async ({ path, body }) => {
    most = Math.max(most, ++waiting)
    await gate.promise
    waiting -= 1
    return { status: 200, headers: {}, body: `${path} ${await textOf(body)}` }
  })
  const client = cluster.client(test, server.port)
  const answers = Array.from({ length: 1_000 }, async (_, index) => {
    const { body } = await client.forward(post(`/${index}`, `body ${index}`))
    return await textOf(body)
  })
  await untilHolds(() => waiting === 1_000)
  test.equal(server.connections, 1)
  gate.resolve()
  for (const [index, text] of (await Promise.all(answers)).entries()) {
    if (text !== `/${index} body ${index}`) test.fail(`${index}: ${text}`)
  }
  test.equal(most, 1_000)
})

t.test('beyond the limit of a session, requests are refused, and places become free', async (test) => {
  const gate = defer()
  let waiting = 0
  const server = await cluster.serve(test, async () => {
    waiting += 1
    await gate.promise
    return { status: 200, headers: {} }
  })
  const client = cluster.client(test, server.port)
  const held = Array.from({ length: 1_024 }, () => client.forward(get('/a')))
  await untilHolds(() => waiting === 1_024)
  test.equal((await peerErrorOf(client.forward(get('/b')))).kind, 'busy')
  gate.resolve()
  for (const { body } of await Promise.all(held)) body.resume()
  await untilHolds(() => waiting === 1_024)
  for (let count = 0; count < 10; count++) await client.forward(get('/c')).then(({ body }) => body.resume())
  test.equal(server.connections, 1)
})

t.test('clients that leave by the thousand do not end the session of the others', async (test) => {
  const asked: string[] = []
  async function* goesOn() {
    yield 'begun'
    await new Promise(() => undefined)
  }
  const server = await cluster.serve(test, async ({ path, signal }) => {
    asked.push(path)
    if (path === '/stays') return { status: 200, headers: {}, body: goesOn() }
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return { status: 200, headers: {} }
  })
  const client = cluster.client(test, server.port)
  const { body } = await client.forward(get('/stays'))
  for (let round = 1; round <= 10; round++) {
    const controllers = Array.from({ length: 300 }, () => new AbortController())
    const all = controllers.map(({ signal }) => peerErrorOf(client.forward(get('/leaves', { signal }))))
    await untilHolds(() => asked.length === 1 + round * 300)
    for (const controller of controllers) controller.abort()
    for (const { kind } of await Promise.all(all)) if (kind !== 'aborted') test.fail(kind)
  }
  test.notOk(body.destroyed)
  test.equal(server.connections, 1)
})

t.test('a request that cannot be forwarded is refused before anything is sent', async (test) => {
  const client = cluster.client(test, 1)
  for (const more of [
    { path: '/a/../b' },
    { path: 'http://evil.example/' },
    { path: '/a\r\nx: y' },
    { query: 'a b' },
    { method: 'CONNECT' },
    { headers: { accept: 'a\r\nb' } },
    { requestId: '' },
    { who: { ...CALLER, userId: '' } },
    { nodeId: 'lb1' },
    { nodeId: 'lb9' },
  ]) {
    test.equal((await peerErrorOf(client.forward(get('/a', more)))).kind, 'refused', JSON.stringify(more))
  }
})

t.test('one hop: a request from a node is not forwarded', async (test) => {
  const client = cluster.client(test, 1)
  const server = await cluster.serve(test, async ({ who }) => {
    const { kind, message } = await peerErrorOf(client.forward(get('/a', { who })))
    return { status: 200, headers: {}, body: `${kind}: ${message}` }
  })
  const answer = await cluster.client(test, server.port).forward(get('/a'))
  test.match(await textOf(answer.body), /^refused: A request forwarded by a node is not forwarded again/)
})

t.test('closing ends waits and running requests', async (test) => {
  const server = await cluster.serve(test, () => new Promise(() => undefined))
  const client = cluster.client(test, server.port)
  const asked = peerErrorOf(client.forward(get('/a')))
  await untilHolds(() => server.connections === 1)
  const connecting = cluster.client(test, server.port)
  const waits = peerErrorOf(connecting.forward(get('/b')))
  client.close()
  connecting.close()
  test.equal((await asked).kind, 'closed')
  test.equal((await waits).kind, 'closed')
  test.equal((await peerErrorOf(client.forward(get('/c')))).kind, 'closed')
  await untilHolds(() => server.connections === 0)
})

t.test('another certificate is used from the next session on', async (test) => {
  const server = await cluster.serve(test, ({ from }) => ({ status: 200, headers: {}, body: from }))
  const client = cluster.client(test, server.port, { credentials: { ...cluster.lb1.credentials, certificate: '' } })
  test.equal((await peerErrorOf(client.forward(get('/a')))).kind, 'unreachable')
  const other = cluster.client(test, server.port, { credentials: { ...cluster.lb2.credentials } })
  other.present(cluster.lb1.credentials)
  test.equal(await textOf((await other.forward(get('/a'))).body), 'lb1')
})
