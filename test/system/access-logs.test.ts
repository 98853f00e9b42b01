import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { LOG_RING } from '../../src/drivers/haproxy/access-log.ts'
import type { LogSetting } from '../../src/model/access-log.ts'
import type { ConfigView } from '../../src/model/sections.ts'
import type { LogRow } from '../../storage/logs/row.ts'
import type { FromLogThread, LogsPage } from '../../workers/logs/messages.ts'
import { LogThread } from '../../workers/logs/thread.ts'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { freePort } from '../fixtures/traffic.ts'
import { viewOf } from '../fixtures/view.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'

/** What a real HAProxy logs, and what is kept of it. */

const LIMITS = { bytes_max: 64 * 1024 * 1024, age_ms: 86_400_000 }

async function site(test: Test, logs: LogSetting = { enabled: true }) {
  const origin = createServer((_request, answer) => answer.end('ok'))
  await once(origin.listen(0, '127.0.0.1'), 'listening')
  test.teardown(() => origin.close())
  // Sound: it listens on a port.
  const { port: originPort } = origin.address() as AddressInfo
  const port = await freePort()
  const view = (more: object = {}): ConfigView =>
    viewOf({
      realServers: [realServer('web', { ip: '127.0.0.1', port: originPort })],
      l7Frontends: [frontend('shop', 'servers', { ip: '127.0.0.1', ports: String(port), logs, ...more })],
      l7Backends: [backend('servers', ['web'])],
    })
  const haproxy = haproxyFixture(test)
  const applied = await haproxy.apply(undefined, view(), 'reload')
  test.equal(applied.ok, true, 'HAProxy takes it')
  return { haproxy, view, port }
}

/** A log thread without a thread of its own. */
function reader(test: Test, { folder, paths }: ReturnType<typeof haproxyFixture>, directory = join(folder, 'logs')) {
  const { masterSocket, statsSocket } = paths
  const waiting = new Map<number, (page: LogsPage) => void>()
  const warnings: string[] = []
  const thread = new LogThread(
    { directory, limits: LIMITS, source: { masterSocket, statsSocket, ring: LOG_RING } },
    (message: FromLogThread) => {
      if (message.type === 'page') waiting.get(message.request)?.(message.answer)
      if (message.type === 'warning') warnings.push(message.message)
    },
  )
  thread.run()
  let stopped: Promise<void> | undefined
  const stop = () => (stopped ??= thread.stop())
  test.teardown(stop)
  let request = 0
  const page = (limit = 100_000): Promise<LogsPage> =>
    new Promise((resolve) => {
      waiting.set(++request, resolve)
      thread.receive({ type: 'search', request, filter: {}, limit, after: undefined })
    })
  /** Oldest first, when there are so many, those that are known to be lost included. */
  const rows = async (count: number): Promise<readonly LogRow[]> => {
    for (;;) {
      const { rows: found, losses } = await page()
      if (found.length + losses.lost >= count) return found.map(({ row }) => row).toReversed()
      await sleep(20)
    }
  }
  return { thread, page, rows, stop, warnings }
}

/** The bytes as they are; resolves with what came back. */
async function send(port: number, request: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(request)
  return await text(socket).catch(() => '')
}

const get = (path: string, headers = ''): Buffer =>
  Buffer.from(`GET ${path} HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n${headers}\r\n`, 'latin1')

t.test('a request is a line with what was asked, who answered and how long it took', async (test) => {
  const { haproxy, port } = await site(test, { enabled: true, headers: ['User-Agent', 'X-None'] })
  const { rows } = reader(test, haproxy)
  await send(port, get('/a/b?c=d', 'User-Agent: curl/8 "x"\r\n'))
  const [row] = await rows(1)
  test.match(row, {
    frontend: 'shop',
    backend: 'servers',
    server: 'web',
    source: '127.0.0.1',
    method: 'GET',
    version: 'HTTP/1.1',
    host: 'www.example.org',
    path: '/a/b?c=d',
    status: 200,
    state: '----',
    headers: JSON.stringify({ 'User-Agent': 'curl/8 "x"' }),
  })
  test.ok(row !== undefined && row.total_ms >= 0 && row.bytesOut > 0 && Math.abs(Date.now() - row.at_ms) < 60_000)
})

t.test('whatever bytes a client sends, its line is one line, and the next one is whole', async (test) => {
  const { haproxy, port } = await site(test, { enabled: true, headers: ['X-A'] })
  const { rows, page } = reader(test, haproxy)
  const hostile: readonly (readonly [value: string, kept: string])[] = [
    ['"quoted" \'x\' \\ \\" ] } {', '"quoted" \'x\' \\ \\" ] } {'],
    ['%[src] %ci %00 %0a $HOME #', '%[src] %ci %00 %0a $HOME #'],
    ['fulcrum1 1 2 shop - -', 'fulcrum1 1 2 shop - -'],
    ['-', '-'],
    ['\u00ff\u00fe\u00c3(', '\ufffd\ufffd\ufffd('],
    ['a\tb', 'a\tb'],
    ['x'.repeat(8_000), 'x'.repeat(1_024)],
  ]
  for (const [value] of hostile) await send(port, get('/x', `X-A: ${value}\r\n`))
  await send(port, get(`/${'p'.repeat(9_000)}`))
  await send(port, get(`/${'p'.repeat(70_000)}`))
  await send(port, 'NO \u0001\u0000 request\r\n\r\n')
  await send(port, get('/last'))
  const all = await rows(hostile.length + 4)
  test.strictSame(
    all.slice(0, hostile.length).map(({ headers }) => JSON.parse(headers)),
    hostile.map(([, kept]) => ({ 'X-A': kept })),
  )
  const [long, tooLong, broken, last] = all.slice(hostile.length)
  test.equal(long?.path, `/${'p'.repeat(4_095)}`, 'a long path is cut off')
  test.match(
    [tooLong, broken],
    [
      { status: 400, path: '', method: '' },
      { status: 400, path: '', method: '' },
    ],
  )
  test.equal(last?.path, '/last')
  test.strictSame((await page()).losses, { lost: 0, unreadable: 0, unstored: 0 })
})

t.test('secrets are masked before anything is stored', async (test) => {
  const { haproxy, port } = await site(test, { enabled: true, headers: ['Authorization', 'Cookie', 'Referer'] })
  const { rows } = reader(test, haproxy)
  const headers = 'Authorization: Basic c2VjcmV0\r\nCookie: a=secret\r\nReferer: https://u:secret@x/?token=secret\r\n'
  await send(port, get('/x?token=secret&a=1&%70assword=secret', headers))
  const [row] = await rows(1)
  test.equal(row?.path, '/x?token=**&a=1&%70assword=**')
  const referer = 'https://**@x/?token=**'
  test.strictSame(JSON.parse(row?.headers ?? ''), { Authorization: '**', Cookie: '**', Referer: referer })
})

/** Clients that ask one request after the other, until they are stopped; they count the answers. */
function load(port: number, clients: number) {
  let [answered, isOver] = [0, false]
  const client = async (): Promise<void> => {
    while (!isOver) {
      const answer = await send(port, get('/load'))
      if (answer.includes(' 200 ')) answered++
    }
  }
  const all = Promise.all(Array.from({ length: clients }, client))
  const stop = async (): Promise<number> => {
    isOver = true
    await all
    return answered
  }
  return { stop, answered: () => answered }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(10)
}

t.test('nothing is lost over reloads while requests come', async (test) => {
  const { haproxy, view, port } = await site(test)
  const { rows, page } = reader(test, haproxy)
  const running = load(port, 4)
  let before = view()
  for (const timeoutClient of [31, 32, 33]) {
    const seen = running.answered()
    await until(() => running.answered() > seen + 50)
    const after = view({ timeoutClient })
    const { ok } = await haproxy.apply(before, after, 'reload')
    test.equal(ok, true, 'reloaded')
    before = after
  }
  const answered = await running.stop()
  const kept = await rows(answered)
  test.equal(kept.filter(({ status }) => status === 200).length, answered)
  test.strictSame((await page()).losses, { lost: 0, unreadable: 0, unstored: 0 })
})

t.test('an old worker is listened to until its last request has ended, and then ends', async (test) => {
  const { haproxy, view, port } = await site(test)
  const { rows } = reader(test, haproxy)
  const slow = connect(port, '127.0.0.1')
  slow.write('GET /slow HTTP/1.1\r\nHost: a\r\n')
  await send(port, get('/first'))
  await rows(1)
  await haproxy.apply(view(), view({ timeoutClient: 31 }), 'reload')
  await send(port, get('/second'))
  await rows(2)
  slow.end('Connection: close\r\n\r\n')
  const all = await rows(3)
  test.strictSame(
    all.map(({ path }) => path),
    ['/first', '/second', '/slow'],
  )
  const oldWorkers = async () => /# old workers\n([^#]*)/.exec(await haproxy.ask('show proc'))?.[1]?.trim()
  // The list is left out when it is empty.
  while (((await oldWorkers()) ?? '') !== '') await sleep(50)
})

t.test('what comes while nobody reads is read later, once', async (test) => {
  const { haproxy, port } = await site(test)
  const first = reader(test, haproxy)
  await send(port, get('/1'))
  await first.rows(1)
  await first.stop()
  for (const path of ['/2', '/3']) await send(port, get(path))
  const { rows, page } = reader(test, haproxy)
  await send(port, get('/4'))
  test.strictSame(
    (await rows(4)).map(({ path }) => path),
    ['/1', '/2', '/3', '/4'],
  )
  test.strictSame((await page()).losses, { lost: 0, unreadable: 0, unstored: 0 })
})

t.test('HAProxy serves on when nobody reads, and what its ring cannot hold is counted', async (test) => {
  const { haproxy, port } = await site(test, { enabled: true, headers: ['X-A', 'X-B', 'X-C', 'X-D', 'X-E', 'X-F'] })
  const long = ['A', 'B', 'C', 'D', 'E', 'F'].map((name) => `X-${name}: ${'v'.repeat(1_024)}\r\n`).join('')
  const sent = 2_400
  const client = async () => {
    const socket = connect(port, '127.0.0.1')
    const request = `GET /x HTTP/1.1\r\nHost: a\r\n${long}\r\n`
    for (let at = 0; at < sent / 4; at++) {
      socket.write(request)
      await once(socket, 'data')
    }
    socket.destroy()
  }
  await Promise.all([client(), client(), client(), client()])
  const { rows, page } = reader(test, haproxy)
  const kept = await rows(sent)
  const { losses } = await page()
  test.ok(losses.lost > 0, 'its ring has 16 MiB')
  test.equal(kept.length + losses.lost, sent)
})

t.test('one in so many is kept, and the others are no losses', async (test) => {
  const { haproxy, port } = await site(test, { enabled: true, sample: 1_000_000 })
  const { rows, page } = reader(test, haproxy)
  for (let at = 0; at < 20; at++) await send(port, get('/sampled'))
  // What is no request is always kept.
  await send(port, 'NO request\r\n\r\n')
  test.match(await rows(1), [{ status: 400 }])
  test.strictSame((await page()).losses, { lost: 0, unreadable: 0, unstored: 0 })
})
