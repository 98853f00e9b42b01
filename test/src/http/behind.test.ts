import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { ok, threadInFront } from '../../fixtures/in-front.ts'

const listenInFront = await threadInFront(t)

t.test('an unexpected body is no part of another request', async (test) => {
  const seen: string[] = []
  const { port } = await listenInFront(test, ({ method, path }) => {
    seen.push(`${method} ${path}`)
    return ok('1')
  })
  for (const method of ['OPTIONS', 'PATCH', 'TRACE', 'DELETE', 'PUT']) {
    const body = 'GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n'
    const socket = connectPlain(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`${method} /open HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    await once(socket, 'data')
    const answer = await fetch(`http://127.0.0.1:${port}/after/${method}`)
    test.equal(await answer.text(), '1')
    socket.destroy()
    test.same(seen.splice(0), [`${method} /open`, `GET /after/${method}`])
  }
})

t.test('a client that leaves before the answer is known to have left', async (test) => {
  const left = new Promise<void>((resolve) => {
    void listenInFront(test, (incoming) => {
      incoming.signal?.addEventListener('abort', () => resolve())
      return new Promise(() => undefined)
    }).then(async ({ port }) => {
      const gone = new AbortController()
      const asked = fetch(`http://127.0.0.1:${port}/`, { signal: gone.signal }).catch(() => undefined)
      await wait(100)
      gone.abort()
      await asked
    })
  })
  await left
  test.pass('reported')
})

/** Blocks this thread, so that a thread in front has written everything before any of it is read. */
function hold(): void {
  const until_ms = performance.now() + 30
  while (performance.now() < until_ms);
}

t.test('an answer before the body has passed is the only one, and does no harm', async (test) => {
  const { port } = await listenInFront(test, () => ok('no', { status: 401 }))
  // The socket between the threads holds some 200 KB: one of these fills it to the last piece.
  for (let size = 195_000; size < 230_000; size += 500) {
    const socket = connectPlain(port, '127.0.0.1')
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    const head = 'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n'
    socket.write(`${head}${size.toString(16)}\r\n${'a'.repeat(size)}\r\n0\r\n\r\n`)
    hold()
    const said = await Promise.race([once(socket, 'data'), once(socket, 'close')])
    test.match(String(said[0]), /^HTTP\/1.1 401/, `${size}`)
    socket.destroy()
  }
})

t.test('a method is forwarded as it was sent, and every one is answered', async (test) => {
  const { port } = await listenInFront(test, ({ method }) => ok(`asked with ${method}.`))
  for (const method of ['get', 'post', 'delete', 'head', 'CONNECT', 'connect', 'PATCH']) {
    const socket = connectPlain(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`${method} /a HTTP/1.1\r\nHost: h\r\n\r\n`)
    const said = await Promise.race([once(socket, 'data'), once(socket, 'close'), wait(2_000)])
    test.notMatch(String(said), /asked with (GET|POST|DELETE)\./, method)
    test.match(String(said), /^HTTP\/1.1 \d{3} /, method)
    socket.destroy()
  }
})

t.test('a caller is refused before a body arrives', async (test) => {
  const { port } = await listenInFront(test, () => ok('no', { status: 401 }))
  const socket = connectPlain(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n')
  const said = await Promise.race([once(socket, 'data'), wait(2_000)])
  test.match(String(said), /^HTTP\/1.1 401/)
  socket.destroy()
})

t.test('headers that are too long only for the thread behind are refused in our words', async (test) => {
  const { port } = await listenInFront(test, () => ok('1'))
  for (const headers of [`X-A: ${'a'.repeat(4_010)}\r\n`, 'X: 1\r\n'.repeat(97), 'Trailer: x\r\n']) {
    const socket = connectPlain(port, '127.0.0.1')
    socket.write(`GET /a HTTP/1.1\r\nHost: h\r\n${headers}\r\n`)
    const [said] = await once(socket, 'data')
    test.match(String(said), headers.startsWith('Trailer') ? /^HTTP\/1.1 200/ : /^HTTP\/1.1 4\d\d [A-Z]/)
    test.notMatch(String(said), /undefined|uWebSockets/)
    socket.destroy()
  }
})
