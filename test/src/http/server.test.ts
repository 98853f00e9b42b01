import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Answer } from '../../../src/http/envelope.ts'
import type { Incoming } from '../../../src/http/incoming.ts'
import { listen, requestIds } from '../../../src/http/server.ts'

const LIMIT_BYTES = 1000
const ok = (body: string | Uint8Array): Answer => ({ status: 200, contentType: 'application/json', body, headers: {} })

/** Echoes what it understood of a request; some paths misbehave on purpose. */
function handle(seen: string[], gate: { open: Promise<void> }) {
  return (incoming: Incoming, requestId: string): Answer | Promise<Answer> => {
    const { method, path, query } = incoming
    seen.push(`${method} ${path}`)
    if (path === '/slow') return gate.open.then(() => ok('"late"'))
    if (path === '/big') return ok(Buffer.alloc(3_000_000, 'x'))
    if (path === '/ambiguous') return ok(String(incoming.isAmbiguous))
    if (path === '/long') return { ...ok(''), slices: () => [Buffer.from('never sent')].values() as never }
    if (path === '/events') return { ...ok(''), stream: () => () => undefined }
    if (path === '/unchanged') return { ...ok(''), status: 304 }
    if (path === '/options') return { ...ok(''), status: 204, headers: { Allow: 'GET' } }
    if (path === '/refused') return { ...ok('{}'), status: 418, headers: { 'X-Extra': '1' } }
    if (method === 'GET' || method === 'HEAD')
      return ok(JSON.stringify({ method, path, query, requestId, host: incoming.header('host') }))
    return incoming
      .readBody(LIMIT_BYTES)
      .then((body) =>
        body === undefined
          ? { ...ok('"too large"'), status: 413 }
          : ok(JSON.stringify({ size: body.length, address: incoming.address, text: Buffer.from(body).toString() })),
      )
      .catch(({ code }: { readonly code: string }) => {
        seen.push(code)
        return ok('')
      })
  }
}

async function fixture(test: Test) {
  const seen: string[] = []
  let release: () => void = () => undefined
  const gate = { open: new Promise<void>((resolve) => (release = resolve)) }
  const listener = await listen({ host: '127.0.0.1', port: 0 }, undefined, handle(seen, gate), requestIds('test'))
  test.teardown(() => listener.close())
  /** Writes raw bytes and reads until the server has said `marker` or closed. */
  const raw = async (parts: readonly string[], marker: string) => {
    const socket = connect(listener.port, '127.0.0.1')
    await once(socket, 'connect')
    // Who writes to a connection that ended.
    socket.on('error', () => undefined)
    for (const part of parts) {
      socket.write(part)
      await wait(5)
    }
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString()))
    const closed = once(socket, 'close')
    while (!text.includes(marker) && !socket.closed) await Promise.race([once(socket, 'data'), closed])
    socket.destroy()
    return text
  }
  return { listener, seen, raw, release: () => release() }
}

t.test('a request reaches the handler, and the answer carries id, type and length', async (test) => {
  const { raw } = await fixture(test)
  const text = await raw(['GET /a/b?c=d HTTP/1.1\r\nHost: h\r\n\r\n'], '}')
  test.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  test.match(text, /X-Request-Id: test-0\r\n/)
  test.match(text, /Content-Type: application\/json\r\n/)
  test.match(text, /\{"method":"GET","path":"\/a\/b","query":"c=d","requestId":"test-0","host":"h"\}/)
})

t.test('bodies arrive whole: in pieces, chunked, pipelined', async (test) => {
  const { raw } = await fixture(test)
  test.match(
    await raw(['POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n', 'abc', 'def'], 'abcdef'),
    /"size":6,"address":"127\.0\.0\.1"/,
  )
  const chunked = 'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n'
  test.match(await raw([chunked, '3\r\nabc\r\n', '3\r\ndef\r\n0\r\n\r\n'], 'abcdef'), /"size":6/)
  const one = 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n'
  const both = await raw([`${one}x${one}y`], '"y"')
  test.match(both, /"text":"x"[\s\S]*"text":"y"/)
})

t.test('a body over the limit is refused without being kept', async (test) => {
  const { raw } = await fixture(test)
  const head = `POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ${LIMIT_BYTES + 1}\r\n\r\n`
  test.match(await raw([head, 'x'.repeat(LIMIT_BYTES + 1)], 'too large'), /^HTTP\/1\.1 413 Content Too Large/)
})

t.test('headers that say twice where a body ends are noticed', async (test) => {
  const { raw } = await fixture(test)
  const ambiguous = async (headers: string, body: string) =>
    /\r\n\r\ntrue/.test(await raw([`POST /ambiguous HTTP/1.1\r\nHost: h\r\n${headers}\r\n\r\n${body}`], '\r\n\r\n'))
  test.notOk(await ambiguous('Content-Length: 2', '{}'))
  test.notOk(await ambiguous('Transfer-Encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'))
  test.ok(await ambiguous('Content-Length: 2\r\nContent-Length: 2', '{}'))
  test.ok(await ambiguous('Transfer-Encoding: gzip, chunked', '2\r\n{}\r\n0\r\n\r\n'))
})

t.test('what follows a body in chunks, or one of unclear length, is never taken for another request', async (test) => {
  const { raw, seen } = await fixture(test)
  const next = 'GET /next HTTP/1.1\r\nHost: h\r\n\r\n'
  const forms = [
    'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    // uWebSockets.js takes the size for 0, and the chunk for what follows.
    `Transfer-Encoding: chunked\r\n\r\n ${(next.length + 2).toString(16)}\r\n\r\n${next}\r\n0\r\n\r\n`,
    'Content-Length: \r\n\r\n',
    'Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}',
  ]
  for (const form of forms) {
    const text = await raw([`POST /one HTTP/1.1\r\nHost: h\r\n${form}`, next, next], 'never said')
    // The answer may be lost to who goes on sending.
    test.ok(text.split('HTTP/1.1 ').length <= 2, text)
  }
  for (const method of ['GET', 'HEAD'])
    await raw([`${method} /one HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}`, next], 'never said')
  test.same(new Set(seen), new Set(['POST /one']))
})

t.test('HEAD has the headers and no body', async (test) => {
  const { raw } = await fixture(test)
  const text = await raw(['HEAD / HTTP/1.1\r\nHost: h\r\n\r\n'], 'never said')
  const [head = ''] = text.split('HTTP/1.1 200 OK\r\n').slice(1)
  const length = (await raw(['GET / HTTP/1.1\r\nHost: h\r\n\r\n'], '}')).split('\r\n\r\n')[1]?.length ?? 0
  // The method in the body is a letter longer.
  test.match(head, new RegExp(`Content-Length: ${length + 1}\r\n(.*\r\n)*\r\n$`))
})

t.test('an answer without a body ends its connection: nobody could tell whether it was read', async (test) => {
  const { raw } = await fixture(test)
  const text = await raw(['OPTIONS /options HTTP/1.1\r\nHost: h\r\n\r\n'], 'never said')
  test.match(text, /^HTTP\/1\.1 204 No Content\r\n/)
  test.match(text, /Allow: GET\r\n/)
  test.match(text, /Connection: close\r\n/i)
  test.notMatch(text, /Content-Length|Transfer-Encoding/i, 'a 204 has none')
  test.match(text, /[^\n]\r\n\r\n$/)
})

t.test('HEAD of an answer that is made while it is sent names no length, and ends its connection', async (test) => {
  const { raw } = await fixture(test)
  for (const path of ['/long', '/events']) {
    const text = await raw([`HEAD ${path} HTTP/1.1\r\nHost: h\r\n\r\n`], 'never said')
    test.match(text, /^HTTP\/1\.1 200 OK\r\n/, path)
    test.notMatch(text, /Content-Length/i, 'it is not empty')
    test.match(text, /\r\nConnection: close\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n\r\n$/)
  }
})

t.test('an answer that nothing has changed names no length, and the connection serves on', async (test) => {
  const { raw } = await fixture(test)
  const asked = 'GET /unchanged HTTP/1.1\r\nHost: h\r\n\r\n'
  const text = await raw([asked, asked, 'GET /next HTTP/1.1\r\nHost: h\r\n\r\n'], '/next')
  test.equal(text.split('HTTP/1.1 304 Not Modified\r\n').length, 3)
  const [unchanged = ''] = text.split('HTTP/1.1 200 OK')
  test.notMatch(unchanged, /Content-Length|Transfer-Encoding|Connection: close/i)
  const head = await raw(['HEAD /unchanged HTTP/1.1\r\nHost: h\r\n\r\n'], 'never said')
  test.notMatch(head, /Content-Length/i)
})

t.test('other statuses and headers are written', async (test) => {
  const { raw } = await fixture(test)
  const text = await raw(['GET /refused HTTP/1.1\r\nHost: h\r\n\r\n'], '{}')
  test.match(text, /^HTTP\/1\.1 418/)
  test.match(text, /X-Extra: 1/)
})

t.test('a stop answers what was asked before, and begins nothing more', async (test) => {
  const { listener, raw, release, seen } = await fixture(test)
  const idle = connect(listener.port, '127.0.0.1')
  await once(idle, 'connect')
  const asked = raw(['POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n'], 'late')
  while (seen.length === 0) await wait(5)
  let isDone = false
  const stopped = listener.stop().then(() => (isDone = true))
  idle.write('GET /after HTTP/1.1\r\nHost: h\r\n\r\n')
  await once(idle, 'close')
  test.same([seen, isDone], [['POST /slow'], false])
  await test.rejects(raw([], 'x'), { code: 'ECONNREFUSED' })
  release()
  test.match(await asked, /200 OK[^]*Connection: close[^]*"late"$/i)
  await stopped
  await listener.stop()
})

t.test('a client that goes away before a late answer harms nothing', async (test) => {
  const { listener, raw, release, seen } = await fixture(test)
  const sockets = Array.from({ length: 20 }, () => connect(listener.port, '127.0.0.1'))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  for (const socket of sockets) socket.write('POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n')
  while (seen.length < sockets.length) await wait(5)
  for (const socket of sockets) socket.destroy()
  await wait(20)
  release()
  test.match(await raw(['GET /alive HTTP/1.1\r\nHost: h\r\n\r\n'], '/alive'), /200 OK/)
})

t.test('a client that sends half a body and leaves harms nothing, and who waits for the rest is told', async (test) => {
  const { listener, raw, seen } = await fixture(test)
  const socket = connect(listener.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf')
  while (seen.length === 0) await wait(1)
  socket.destroy()
  while (seen.length === 1) await wait(1)
  test.same(seen, ['POST /', 'MALFORMED_REQUEST'])
  test.match(await raw(['GET /alive HTTP/1.1\r\nHost: h\r\n\r\n'], '/alive'), /200 OK/)
})

t.test('a large answer arrives whole', async (test) => {
  const { listener } = await fixture(test)
  const answer = await fetch(`http://127.0.0.1:${listener.port}/big`)
  test.equal((await answer.arrayBuffer()).byteLength, 3_000_000)
})

t.test('an address that is taken is refused', async (test) => {
  const { listener } = await fixture(test)
  const again = listen({ host: '127.0.0.1', port: listener.port }, undefined, () => ok('1'), requestIds('x'))
  await test.rejects(again, /cannot listen on 127\.0\.0\.1:\d+: the address is in use/)
})

t.test('one that rests ends what lasts, says why to everybody, and resumes', async (test) => {
  const { listener, raw } = await fixture(test)
  const following = raw(['GET /events HTTP/1.1\r\nHost: h\r\n\r\n'], 'never')
  // Its head has come.
  await raw(['GET /now HTTP/1.1\r\nHost: h\r\n\r\n'], '"/now"')
  await listener.rest({ ...ok('"come again"'), status: 503, headers: { 'Retry-After': '1' } })
  test.match(await following, /^HTTP\/1.1 200 OK/)
  const refused = await raw(['GET /now HTTP/1.1\r\nHost: h\r\n\r\n'], 'come again')
  test.match(refused, /^HTTP\/1.1 503 [^]*Retry-After: 1/)
  listener.resume(() => ok('"somebody else"'))
  test.match(await raw(['GET /now HTTP/1.1\r\nHost: h\r\n\r\n'], 'somebody'), /^HTTP\/1.1 200 OK/)
})
