import t, { type Test } from 'tap'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { ERRORS } from '../../../src/base/errors.ts'
import type { Answer } from '../../../src/http/envelope.ts'
import type { Incoming } from '../../../src/http/incoming.ts'
import { negotiate, wantedOf } from '../../../src/http/prepared.ts'
import { STATUS_LINES } from '../../../src/http/sending.ts'
import { listen, requestIds } from '../../../src/http/server.ts'
import { sharedMemory } from '../../../src/exposition/shared-memory.ts'
import { ensureCertificate } from '../../../src/listeners/own-certificate.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { untilHolds } from '../../fixtures/until.ts'

const MIB = 1024 * 1024
const text = (body: string | Uint8Array, more: Partial<Answer> = {}): Answer => ({
  status: 200,
  contentType: 'text/plain',
  body,
  headers: {},
  ...more,
})
const prepared = { body: Buffer.alloc(2 * MIB, 'p'), etag: '"p"', cacheControl: 'no-cache' }

/** Answers of every kind; counts its requests. */
async function fixture(test: Test, kind: 'plain' | 'tls' = 'plain') {
  const seen = { asked: 0, held: 0 }
  // More than sockets hold for a reader, in memory like that of the metrics.
  const lent = sharedMemory(16 * MIB)
  const hold = () => {
    seen.held += 1
    let isHeld = true
    return () => {
      if (isHeld) seen.held -= 1
      isHeld = false
    }
  }
  const shared = Buffer.alloc(2 * MIB)
  const handle = (incoming: Incoming): Answer | Promise<Answer> => {
    seen.asked += 1
    if (incoming.path === '/text') return text('é'.repeat(MIB))
    if (incoming.path === '/transient') return text(shared.fill(96 + (seen.asked % 26)), { isTransient: true })
    if (incoming.path === '/held') {
      if (seen.held === 0) lent.fill(96 + (seen.asked % 26))
      return text(lent, { isTransient: true, hold })
    }
    if (incoming.path === '/prepared') return negotiate(prepared, wantedOf(incoming))
    if (incoming.path === '/late') return Promise.resolve(text(Buffer.alloc(2 * MIB, 'l')))
    return text('x'.repeat(200))
  }
  const tls = kind === 'tls' ? await ensureCertificate(temporaryFolder(test, 'tls'), ['127.0.0.1']) : undefined
  const listener = await listen({ host: '127.0.0.1', port: 0 }, tls, handle, requestIds('s'))
  test.teardown(() => listener.close())
  const open = async (): Promise<Socket> => {
    const at = { port: listener.port, host: '127.0.0.1' }
    const socket = kind === 'tls' ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at)
    socket.on('error', () => undefined)
    await once(socket, kind === 'tls' ? 'secureConnect' : 'connect')
    test.teardown(() => socket.destroy())
    return socket
  }
  /** Returns all bytes until the connection ends, or `done` returns true. */
  const received = async (socket: Socket, done: (all: Buffer) => boolean = () => false): Promise<Buffer> => {
    const parts: Buffer[] = []
    let length = 0
    socket.on('data', (part: Buffer) => {
      parts.push(part)
      length += part.length
      if (length > 1_000 && done(Buffer.concat(parts))) socket.destroy()
    })
    await ended(socket)
    return Buffer.concat(parts)
  }
  return { seen, open, received }
}

/** Also by an error: the connection may be cut while it sends. */
const ended = (socket: Socket) => new Promise<void>((resolve) => socket.once('close', () => resolve()))
const GET = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`

for (const kind of ['plain', 'tls'] as const) {
  for (const path of ['/small', '/text', '/transient', '/held', '/prepared', '/late']) {
    t.test(`${kind} ${path}: a client that keeps asking without reading is cut off, and costs little`, async (test) => {
      const { seen, open } = await fixture(test, kind)
      const socket = await open()
      socket.pause()
      const closed = ended(socket)
      const burst = GET(path).repeat(2_000)
      let isOpen = true
      void closed.then(() => (isOpen = false))
      for (let sent = 0; isOpen && sent < 200; sent += 1) {
        if (!socket.write(burst))
          await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed, wait(50)])
        if (path !== '/small' && seen.asked > 100) break
      }
      // A paused socket does not report its end.
      socket.resume()
      await closed
      test.equal(seen.held, 0, 'nothing is held for a lost client')
      test.ok(seen.asked < (path === '/small' ? 60_000 : 100), `${seen.asked} were answered`)
    })
  }
}

for (const kind of ['plain', 'tls'] as const) {
  t.test(`${kind}: a slow reader gets each answer whole, whatever it is made of`, async (test) => {
    const { open, received } = await fixture(test, kind)
    const bodies = {
      '/text': Buffer.from('é'.repeat(MIB)),
      '/prepared': prepared.body,
      '/late': Buffer.alloc(2 * MIB, 'l'),
    }
    for (const [path, body] of Object.entries(bodies)) {
      const socket = await open()
      socket.pause()
      socket.write(GET(path))
      await wait(50)
      socket.resume()
      const all = await received(socket, (part) => part.length - part.indexOf('\r\n\r\n') - 4 >= body.length)
      const start = all.indexOf('\r\n\r\n') + 4
      test.match(all.subarray(0, start).toString(), new RegExp(`Content-Length: ${body.length}\r\n`))
      test.ok(all.subarray(start).equals(body), path)
    }
  })
}

t.test('bytes that can be held are held for a slow reader, and no longer', async (test) => {
  const { seen, open, received } = await fixture(test)
  const socket = await open()
  socket.pause()
  socket.write(GET('/held'))
  await untilHolds(() => seen.held > 0)
  // It would be overwritten without the hold.
  const other = await open()
  other.write(GET('/held'))
  await once(other, 'data')
  socket.resume()
  const all = await received(socket, (part) => part.length - part.indexOf('\r\n\r\n') - 4 >= 16 * MIB)
  test.ok(all.subarray(all.indexOf('\r\n\r\n') + 4).every((byte, _at, [first]) => byte === first))
  other.destroy()
  await untilHolds(() => seen.held === 0)
})

t.test('bytes that the next answer overwrites reach a slow reader unchanged', async (test) => {
  const { open, received } = await fixture(test)
  const slow = await open()
  slow.pause()
  slow.write(GET('/transient'))
  await wait(50)
  const other = await open()
  other.write(GET('/transient'))
  await received(other, (all) => all.length > 2 * MIB)
  slow.resume()
  const all = await received(slow, (part) => part.length > 2 * MIB + part.indexOf('\r\n\r\n') + 3)
  const body = all.subarray(all.indexOf('\r\n\r\n') + 4)
  test.equal(body.length, 2 * MIB)
  test.ok(body.equals(Buffer.alloc(2 * MIB, body[0])), 'one letter throughout')
})

t.test('a connection ends after HEAD, and after 304 one answer is sent in full now and then', async (test) => {
  const { seen, open, received } = await fixture(test)
  const head = await open()
  head.write('HEAD /prepared HTTP/1.1\r\nHost: h\r\n\r\n')
  const told = (await received(head)).toString()
  test.match(told, /^HTTP\/1\.1 200 OK\r\n/)
  test.match(told, new RegExp(`Content-Length: ${2 * MIB}\r\n`))
  test.match(told, /Connection: close\r\n/)
  test.ok(told.endsWith('\r\n\r\n'), 'no body')
  const flood = await open()
  flood.write('HEAD /prepared HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(1_000))
  await received(flood)
  test.ok(seen.asked < 5, 'one request of many')
  seen.asked = 0
  const conditional = await open()
  conditional.pause()
  const closed = ended(conditional)
  let isOpen = true
  void closed.then(() => (isOpen = false))
  const burst = GET('/prepared', 'If-None-Match: "p"\r\n').repeat(500)
  for (let sent = 0; isOpen && sent < 20; sent += 1) {
    conditional.write(burst)
    await wait(5)
  }
  conditional.resume()
  await closed
  test.ok(seen.asked < 1_000, `${seen.asked} of 10,000 conditional requests were answered`)
})

t.test('every answer has nosniff, and over TLS HSTS; none names a program', async (test) => {
  for (const kind of ['plain', 'tls'] as const) {
    const { open, received } = await fixture(test, kind)
    const socket = await open()
    socket.write(GET('/small', 'Connection: close\r\n'))
    const head = (await received(socket)).toString()
    test.match(head, /\r\nX-Content-Type-Options: nosniff\r\n/)
    test.match(head, /\r\nCache-Control: no-store\r\n/)
    test.equal(/\r\nStrict-Transport-Security: max-age=31536000\r\n/.test(head), kind === 'tls')
    test.notMatch(head, /uwebsockets|server:|x-powered-by/i)
  }
})

t.test('every status of an answer has its line', async (test) => {
  for (const status of [200, 201, 202, 304, ...Object.values(ERRORS).map((error) => error.status)]) {
    test.match(STATUS_LINES[status], new RegExp(`^${status} [A-Z]`))
  }
})
