import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { freePort } from '../fixtures/traffic.ts'
import { untilHolds } from '../fixtures/until.ts'
import { felt, textOf } from './bystander.ts'
import { connected, type Kind } from './raw-fixture.ts'

/** 16,000 in the long run: FULCRUM_ATTACK_PIPELINED=16000. */
const PIPELINED = Number(process.env['FULCRUM_ATTACK_PIPELINED'] ?? 500)
const CONNECTIONS = 8
t.setTimeout(0)

const rss_mib = ({ pid }: Daemon) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

async function fixture(test: Test) {
  const plain = await freePort()
  const daemon = await daemonFixture(test, ['--no-demo', '--http', `127.0.0.1:${plain}`])
  return { daemon, ports: { plain, tls: daemon.port } }
}

/**
 * Sends and reads nothing, until everything is sent or the daemon ends the connection. Returns the part that was cut
 * off.
 */
async function unread(test: Test, kind: Kind, port: number, request: string): Promise<readonly Socket[]> {
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => connected(kind, port)))
  test.teardown(() => sockets.forEach((socket) => socket.destroy()))
  const part = request.repeat(100)
  for (const socket of sockets) {
    socket.on('error', () => undefined)
    socket.pause()
  }
  for (let sent = 0; sent < PIPELINED; sent += 100) {
    for (const socket of sockets) if (!socket.destroyed) socket.write(part)
    await wait(1)
  }
  return sockets
}

const DOCUMENT = (path: string, more = '') => `GET /api/v1/${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`

t.test('unread: pipelined requests with unread answers take neither memory nor time from others', async (test) => {
  const { daemon, ports } = await fixture(test)
  const etag = (await daemon.call('GET', '/docs/swagger-ui-bundle.js')).headers['etag'] ?? ''
  await daemon.call('GET', '/openapi.json')
  const before = await felt(daemon)
  test.comment(`before: ${textOf(before)}, ${rss_mib(daemon).toFixed(0)} MiB`)
  const requests: Readonly<Record<string, string>> = {
    'openapi.json': DOCUMENT('openapi.json'),
    'the bundle, gzip': DOCUMENT('docs/swagger-ui-bundle.js', 'Accept-Encoding: gzip\r\n'),
    'the bundle, conditional': DOCUMENT('docs/swagger-ui-bundle.js', `If-None-Match: ${etag}\r\n`),
    ping: DOCUMENT('ping'),
    'no such path': DOCUMENT('nothing'),
    HEAD: 'HEAD /api/v1/ping HTTP/1.1\r\nHost: h\r\n\r\n',
    'a body in chunks': 'POST /api/v1/token HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  }
  const memory = rss_mib(daemon)
  for (const kind of ['plain', 'tls'] as const) {
    for (const [what, request] of Object.entries(requests)) {
      const flood = unread(test, kind, ports[kind], request)
      const during = await felt(daemon)
      const sockets = await flood
      const taken = rss_mib(daemon) - memory
      test.comment(`${kind}, ${what}: ${textOf(during, before)}, ${taken.toFixed(0)} MiB more`)
      test.ok(taken < 150, `${kind}, ${what}: ${taken.toFixed(0)} MiB`)
      for (const socket of sockets) socket.destroy()
    }
  }
  test.equal((await daemon.call('GET', '/services')).status, 200)
  test.notMatch(daemon.stderr, /"level":"error"/)
})

t.test('unread: a client that reads slowly gets everything, and no other waits for it', async (test) => {
  const { daemon, ports } = await fixture(test)
  const whole = (await daemon.call('GET', '/openapi.json')).text
  const socket = await connected('plain', ports.plain)
  test.teardown(() => socket.destroy())
  let text = ''
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part
    socket.pause()
    setTimeout(() => socket.resume(), 2)
  })
  socket.write(DOCUMENT('openapi.json'))
  await untilHolds(() => text.length - text.indexOf('\r\n\r\n') - 4 >= whole.length)
  test.equal(text.slice(text.indexOf('\r\n\r\n') + 4), whole)
  test.equal((await daemon.call('GET', '/services')).status, 200)
})

t.test('unread: thousands of refused requests in one piece end their connection', async (test) => {
  const { daemon, ports } = await fixture(test)
  const before = await felt(daemon)
  for (const kind of ['plain', 'tls'] as const) {
    for (const path of ['ipvsDirector/rips', 'nothing']) {
      const socket = await connected(kind, ports[kind])
      test.teardown(() => socket.destroy())
      let answers = 0
      socket.on('data', (part: Buffer) => (answers += part.toString().split('HTTP/1.1 4').length - 1))
      socket.on('error', () => undefined)
      // A reset is an end as well.
      const ended = new Promise((resolve) => socket.once('close', resolve))
      socket.write(DOCUMENT(path).repeat(10_000))
      await ended
      test.ok(answers <= 1_000, `${kind}, ${path}: ${answers} of 10,000 were answered`)
    }
  }
  const flood = unread(test, 'plain', ports.plain, DOCUMENT('ipvsDirector/rips'))
  test.comment(`refused without a login: ${textOf(await felt(daemon), before)}`)
  for (const socket of await flood) socket.destroy()
  test.equal((await daemon.call('GET', '/services')).status, 200)
})
