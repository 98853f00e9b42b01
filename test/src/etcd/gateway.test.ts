import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { errorOf } from '../../fixtures/etcd-error.ts'
import { type Call, Gateway, streamed } from '../../../src/etcd/gateway.ts'
import { TestCa } from '../../fixtures/etcd-certificates.ts'
import { untilHolds } from '../../fixtures/until.ts'
import { CREDENTIALS, etcdGateway, says, silent } from '../../simulators/etcd-gateway.ts'

/** A wait for events that must not occur, and a short one. */
const [LONG, SHORT] = [
  { share_ms: 300_000, left_ms: 300_000 },
  { share_ms: 50, left_ms: 50 },
]
const READ: Call = { path: 'kv/range', fields: { key: 'YQ==' } }
const WRITE: Call = { path: 'kv/put', fields: { key: 'YQ==' }, isWrite: true }

function gateway(test: Test, url: string, credentials = CREDENTIALS): Gateway {
  const made = new Gateway(url, credentials)
  test.teardown(() => made.close())
  return made
}

t.test('a call and its answer', async (test) => {
  const { url, asked, sockets } = await etcdGateway(test, says({ header: { revision: '7' } }))
  const one = gateway(test, url)
  test.same(await one.ask(WRITE, LONG), { header: { revision: '7' } })
  test.same(await one.ask({ ...READ, isLocal: true }, LONG), { header: { revision: '7' } })
  test.match(asked, [
    { path: '/v3/kv/put', fields: { key: 'YQ==' }, headers: { 'grpc-metadata-hasleader': 'true' } },
    { path: '/v3/kv/range', headers: { 'grpc-timeout': '300000m' } },
  ])
  test.notOk('grpc-metadata-hasleader' in (asked[1]?.headers ?? {}), 'answered even without a leader')
  test.equal(sockets.size, 1, 'the connection is kept open')
  test.equal(one.address, new URL(url).host)
  test.throws(() => new Gateway('http://127.0.0.1:1', CREDENTIALS), /https is required/)
})

t.test('refusals of etcd, in both formats of its gateways', async (test) => {
  const code = 8
  for (const body of [
    { code, message: 'etcdserver: mvcc: database space exceeded' },
    { error: 'etcdserver: mvcc: database space exceeded', code },
    { error: { grpc_code: code, http_code: 429, message: 'etcdserver: mvcc: database space exceeded' } },
    { error: { code, message: 'etcdserver: mvcc: database space exceeded', details: [] } },
  ]) {
    const { url } = await etcdGateway(test, says(body, 429))
    test.match(await errorOf(gateway(test, url).ask(WRITE, LONG)), { kind: 'no-space', facts: { code } })
    test.match(await errorOf(gateway(test, url).open(READ, LONG)), { kind: 'no-space', facts: { code } })
  }
})

t.test("an answer that is not etcd's: a write may have been executed", async (test) => {
  for (const body of ['"text"', '[]', '{"result":1}', 'no JSON']) {
    const { url } = await etcdGateway(test, (response) => response.end(body))
    test.equal((await errorOf(gateway(test, url).ask(WRITE, LONG))).kind, 'unknown-outcome', body)
    test.equal((await errorOf(gateway(test, url).ask(READ, LONG))).kind, 'unreadable', body)
  }
  const { url } = await etcdGateway(test, (response) => response.writeHead(502).end('<html>'))
  test.equal((await errorOf(gateway(test, url).ask(READ, LONG))).kind, 'unreadable')
  test.equal((await errorOf(gateway(test, url).open(READ, LONG))).kind, 'unreadable')
})

t.test('silence after the request was sent: the outcome of a write is unknown', async (test) => {
  const { url, asked, sockets } = await etcdGateway(test, silent)
  const one = gateway(test, url)
  test.equal((await errorOf(one.ask(READ, { ...LONG, share_ms: 50 }))).kind, 'timeout')
  // On a machine that stalls, the connection is not open in time.
  for (let share_ms = 250; ; share_ms *= 4) {
    const before = asked.length
    const error = await errorOf(one.ask(WRITE, { share_ms, left_ms: 2 * share_ms }))
    if (asked.length === before) test.equal(error.kind, 'unreachable')
    else {
      test.match(error, { kind: 'unknown-outcome', message: /whether the write was executed/ })
      break
    }
  }
  // After a timeout nothing is left open.
  await untilHolds(() => sockets.size === 0)
})

t.test('silence in the middle of the answer', async (test) => {
  const { url } = await etcdGateway(test, (response) => response.write('{"header"'))
  const patience = { share_ms: 300_000, left_ms: 1000 }
  test.match((await errorOf(gateway(test, url).ask(WRITE, patience))).kind, /^(unknown-outcome|unreachable)$/)
  test.match((await errorOf(gateway(test, url).ask(READ, patience))).kind, /^(timeout|unreachable)$/)
  const { url: refusing } = await etcdGateway(test, (response) => response.writeHead(503).write('{"error"'))
  test.match((await errorOf(gateway(test, refusing).open(READ, patience))).kind, /^(timeout|unreachable)$/)
})

t.test('a connection that breaks before the answer, or in the middle of it', async (test) => {
  const atOnce = await etcdGateway(test, (response) => response.socket?.destroy())
  const amid = await etcdGateway(test, (response) => {
    response.writeHead(200, { 'Content-Length': 100 }).write('{', () => response.socket?.destroy())
  })
  for (const { url, asked } of [atOnce, amid]) {
    test.equal((await errorOf(gateway(test, url).ask(WRITE, LONG))).kind, 'unknown-outcome')
    test.equal(asked.length, 1)
    test.equal((await errorOf(gateway(test, url).ask(READ, LONG))).kind, 'unreachable')
  }
})

t.test('nothing listens, or a listener accepts the connection and stays silent', async (test) => {
  const { url, close } = await etcdGateway(test, silent)
  await close()
  test.match(await errorOf(gateway(test, url).ask(WRITE, LONG)), {
    kind: 'unreachable',
    message: 'it refuses connections',
  })
  const mute = createTcpServer(() => undefined).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  test.teardown(() => mute.close())
  const address = mute.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const hung = await errorOf(gateway(test, `https://127.0.0.1:${address.port}`).ask(WRITE, { ...LONG, share_ms: 50 }))
  test.match(hung, { kind: 'unreachable', message: /accepted no connection within 50 ms/ })
  test.equal((await errorOf(gateway(test, 'https://[::1]:1').ask(WRITE, LONG))).kind, 'unreachable')
})

t.test('an untrusted server does not get a byte of the request', async (test) => {
  const stranger = await (await TestCa.make('stranger')).issue('stranger')
  let heard = ''
  const server = createTlsServer({ cert: stranger.certificate, key: stranger.key }, (socket) => {
    socket.on('data', (piece) => {
      heard += String(piece)
    })
    socket.on('error', () => undefined)
  })
  server.on('tlsClientError', () => undefined)
  const ended = new Promise<void>((resolve) => {
    server.on('connection', (socket) => {
      socket.on('error', () => undefined)
      socket.once('close', () => resolve())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const error = await errorOf(gateway(test, `https://127.0.0.1:${address.port}`).ask(WRITE, LONG))
  test.match(error, { kind: 'untrusted', message: /its certificate is not accepted/ })
  await ended
  test.equal(heard, '')
})

t.test('a server that does not trust us', async (test) => {
  const { url, asked } = await etcdGateway(test, says({}))
  const stranger = await (await TestCa.make('stranger')).issue('stranger')
  for (const shown of [
    { ...CREDENTIALS, certificate: stranger.certificate, key: stranger.key },
    { ...CREDENTIALS, certificate: '', key: '' },
  ]) {
    // The alert may be lost after a reset; then the outcome of a write is unknown.
    const { kind } = await errorOf(gateway(test, url, shown).ask(WRITE, LONG))
    test.match(kind, /^(untrusted|unknown-outcome)$/)
  }
  test.same(asked, [])
})

t.test('a stream is opened, and its lines are results or an error', async (test) => {
  const { url, asked } = await etcdGateway(test, (response) => response.write('{"result":{"a":"1"}}\n'))
  const response = await gateway(test, url).open({ path: 'watch', fields: {} }, LONG)
  response.destroy()
  test.notOk('grpc-timeout' in (asked[0]?.headers ?? {}), 'it has no timeout')
  test.same(streamed('{"result":{"a":"1"}}'), { a: '1' })
  const cut = '{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}}'
  test.match(await errorOf(() => streamed(cut)), { kind: 'no-leader', facts: { code: 14 } })
  test.match(await errorOf(() => streamed('{"error":{"code":14,"message":"etcdserver: no leader"}}')), {
    kind: 'no-leader',
  })
  test.throws(() => streamed('{'), /not from etcd/)
  const { url: slow } = await etcdGateway(test, silent)
  test.match((await errorOf(gateway(test, slow).open(READ, SHORT))).kind, /^(timeout|unreachable)$/)
})

t.test('closed: open calls end', async (test) => {
  const { url } = await etcdGateway(test, (_, { path }) => {
    test.equal(path, '/v3/kv/put')
    one.close()
  })
  const one = gateway(test, url)
  test.equal((await errorOf(one.ask(WRITE, LONG))).kind, 'unknown-outcome')
})

t.test('a member that is reached through a socket of its machine is shown no certificate', async (test) => {
  const socket = join(temporaryFolder(test, 'etcd'), 'etcd.sock')
  const one = gateway(test, `unix://${socket}`)
  test.equal(one.address, socket)
  test.equal((await errorOf(one.ask(READ, LONG))).kind, 'unreachable', 'nothing listens')
  const server = createHttpServer((request, response) => {
    request.resume()
    response.end(JSON.stringify({ path: request.url }))
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  test.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  test.same(await one.ask(READ, LONG), { path: '/v3/kv/range' })
  one.present(CREDENTIALS)
  test.same(await one.ask(WRITE, LONG), { path: '/v3/kv/put' })
})
