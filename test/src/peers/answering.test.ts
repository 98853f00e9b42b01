import { Readable } from 'node:stream'
import t from 'tap'
import { createLog } from '../../../src/base/log.ts'
import type { PeerAnswer, PeerRequest } from '../../../src/peers/answering.ts'
import { CALLER, get, headOf, peerErrorOf, post, rawSession, TestCluster, textOf } from '../../fixtures/peers.ts'
import { untilHolds } from '../../fixtures/until.ts'

const cluster = await TestCluster.make()

t.test('a request arrives as it was sent', async (test) => {
  const asked: PeerRequest[] = []
  const server = await cluster.serve(test, (request) => {
    asked.push(request)
    return { status: 200, headers: {} }
  })
  const client = cluster.client(test, server.port)
  const headers = { 'If-Match': '"7"', 'X-Transaction-Id': 'tx-1', 'X-Fulcrum-Sequence': '12', Accept: 'text/csv' }
  await client.forward(post('/a%2Fb/c', '{}', { query: 'd=e&f=%0D', headers, requestId: 'abc-1f' }))
  test.match(asked[0], {
    method: 'POST',
    path: '/a%2Fb/c',
    query: 'd=e&f=%0D',
    headers: { 'if-match': '"7"', 'x-transaction-id': 'tx-1', 'x-fulcrum-sequence': '12', accept: 'text/csv' },
    requestId: 'abc-1f',
    from: 'lb1',
  })
  test.same(asked[0]?.who, { ...CALLER, via: 'lb1' })
  test.notOk(asked[0]?.signal.aborted)
})

const SECRETS = { authorization: 'Bearer secret', cookie: 'a=secret', connection: 'close', 'set-cookie': 'b=secret' }

t.test('headers that must not be forwarded are dropped by the sender', async (test) => {
  const server = await cluster.serve(test, ({ headers }) => ({
    status: 200,
    headers: { ...SECRETS, etag: '"8"' },
    body: JSON.stringify(headers),
  }))
  const answer = await cluster.client(test, server.port).forward(get('/a', { headers: { ...SECRETS, accept: 'b' } }))
  test.equal(await textOf(answer.body), '{"accept":"b"}')
  test.same(answer.headers, { etag: '"8"' })
})

t.test('and again by the receiver', async (test) => {
  const asked: PeerRequest[] = []
  const server = await cluster.serve(test, (request) => {
    asked.push(request)
    return { status: 200, headers: {} }
  })
  const session = rawSession(test, cluster.lb1.credentials, server.port)
  const stream = session.request(
    headOf({ authorization: 'Bearer secret', cookie: 'a=secret', accept: 'b', 'x-user': 'root' }),
  )
  stream.resume()
  await new Promise((resolve) => stream.once('close', resolve))
  test.same(asked[0]?.headers, { accept: 'b' })
})

t.test('an error of the handler is logged, and the caller gets no answer', async (test) => {
  const told: string[] = []
  const wrong: Readonly<Record<string, () => PeerAnswer | Promise<PeerAnswer>>> = {
    '/throws': () => {
      throw new Error('no disk')
    },
    '/rejects': () => Promise.reject(new Error('no disk')),
    '/status': () => ({ status: 99, headers: {} }),
    '/fraction': () => ({ status: 200.5, headers: {} }),
    '/header': () => ({ status: 200, headers: { etag: 'a\r\nset-cookie: b' } }),
  }
  const server = await cluster.serve(test, ({ path }) => wrong[path]?.() ?? { status: 200, headers: {} }, {
    log: createLog((line) => told.push(line)),
  })
  const client = cluster.client(test, server.port)
  for (const path of Object.keys(wrong)) {
    test.equal((await peerErrorOf(client.forward(get(path)))).kind, 'lost', path)
    test.match(told.at(-1), `"path":"${path}"`)
  }
  test.equal((await client.forward(get('/right'))).status, 200, 'the session stays open')
})

t.test('answers without a body, whatever the handler made for them', async (test) => {
  const bodies: Readable[] = []
  const server = await cluster.serve(test, ({ path }) => {
    const body = Readable.from(['text'])
    bodies.push(body)
    return { status: Number(path.slice(1)), headers: { 'content-length': '4', etag: '"1"' }, body }
  })
  const client = cluster.client(test, server.port)
  const head = await client.forward(get('/200', { method: 'HEAD' }))
  test.match(head, { status: 200, headers: { 'content-length': '4', etag: '"1"' } })
  test.equal(await textOf(head.body), '')
  for (const status of [204, 304]) {
    const answer = await client.forward(get(`/${status}`))
    test.equal(answer.status, status)
    test.equal(await textOf(answer.body), '')
  }
  test.ok(bodies.every(({ destroyed }) => destroyed))
})

t.test('a lost caller: the signal fires, and a late answer is dropped with its source', async (test) => {
  const late = Readable.from(['late'])
  const told: string[] = []
  let begun = false
  const server = await cluster.serve(
    test,
    async ({ signal }) => {
      begun = true
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { status: 200, headers: {}, body: late }
    },
    { log: createLog((line) => told.push(line)) },
  )
  const client = cluster.client(test, server.port)
  const controller = new AbortController()
  const answer = peerErrorOf(client.forward(get('/a', { signal: controller.signal })))
  await untilHolds(() => begun)
  controller.abort()
  test.equal((await answer).kind, 'aborted')
  await untilHolds(() => late.destroyed)
  test.same(told, [])
})

t.test('a caller that resets its stream without an error is lost as well', async (test) => {
  const signals: AbortSignal[] = []
  const body = Readable.from(
    (function* endless() {
      for (;;) yield Buffer.alloc(65_536)
    })(),
    { objectMode: false },
  )
  const server = await cluster.serve(test, ({ signal }) => {
    signals.push(signal)
    return { status: 200, headers: {}, body }
  })
  const stream = rawSession(test, cluster.lb1.credentials, server.port).request(headOf())
  stream.on('error', () => undefined)
  stream.once('response', () => stream.close(0))
  await untilHolds(() => body.destroyed && signals[0]?.aborted === true)
})

t.test('the signal does not fire for an answer that was given', async (test) => {
  const signals: AbortSignal[] = []
  const server = await cluster.serve(test, ({ signal, path }) => {
    signals.push(signal)
    return path === '/text' ? { status: 200, headers: {}, body: 'text' } : { status: 200, headers: {} }
  })
  const client = cluster.client(test, server.port)
  for (const path of ['/text', '/empty']) await textOf((await client.forward(get(path))).body)
  client.close()
  await untilHolds(() => server.connections === 0)
  test.same(
    signals.map(({ aborted }) => aborted),
    [false, false],
  )
})
