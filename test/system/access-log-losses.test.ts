import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { NO_LOSSES } from '../fixtures/log-rows.ts'
import { noSmallDisk, smallDisk } from '../fixtures/small-disk.ts'
import { get, load, reader, readerApart, send, site } from './access-log-fixture.ts'
import { until, untilHolds } from '../fixtures/until.ts'

/** Reloads, kill -9, a full disk and a missing reader: every lost line of a real HAProxy is counted. */

t.test('no line is lost over reloads while requests arrive', async (test) => {
  const { haproxy, view, port } = await site(test)
  const { rows, page, thread } = reader(test, haproxy)
  const running = load(test, port, 4)
  let before = view()
  for (const timeoutClient of [31, 32, 33]) {
    const seen = running.answered()
    await untilHolds(() => running.answered() > seen + 50)
    const after = view({ timeoutClient })
    // As the apply engine does.
    await thread.look()
    const { ok } = await haproxy.apply(before, after, 'reload')
    test.equal(ok, true, 'reloaded')
    before = after
  }
  const answered = await running.stop()
  const kept = await rows(answered)
  test.equal(kept.filter(({ status }) => status === 200).length, answered)
  test.strictSame((await page()).losses, NO_LOSSES)
})

t.test('reloads in quick succession lose no line either', async (test) => {
  const { haproxy, view, port } = await site(test)
  const { rows, page, thread } = reader(test, haproxy)
  let before = view()
  for (let round = 1; round <= 8; round++) {
    const after = view({ timeoutClient: 30 + round })
    await send(port, get(`/${round}`))
    await thread.look()
    await haproxy.apply(before, after, 'reload')
    before = after
  }
  const found = await rows(8)
  // When two workers have lines, either may be read first.
  test.strictSame(found.map(({ path }) => path).toSorted(), ['/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8'])
  test.strictSame((await page()).losses, NO_LOSSES)
})

t.test('an old worker is read until its last request has ended, and then ends', async (test) => {
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
  await until('the end of old workers', oldWorkers, (pids = '') => pids === '')
})

t.test('kill -9 of the reader at any moment neither loses a line nor stores one twice', async (test) => {
  const { haproxy, port } = await site(test)
  const running = load(test, port, 4)
  for (let round = 1; round <= 4; round++) {
    const { kill } = await readerApart(test, haproxy)
    const seen = running.answered()
    // Each kill comes at another point of a write.
    await untilHolds(() => running.answered() > seen + 37 * round)
    await kill()
  }
  const answered = await running.stop()
  const { rows, page } = reader(test, haproxy)
  const kept = await rows(answered)
  test.equal(kept.filter(({ status }) => status === 200).length, answered)
  test.equal(new Set(kept.map(({ sourcePort, at_ms }) => `${sourcePort} ${at_ms}`)).size, answered, 'each line once')
  test.strictSame((await page()).losses, NO_LOSSES)
})

t.test('a full disk loses no line while memory can hold them', { skip: noSmallDisk }, async (test) => {
  const { haproxy, port } = await site(test)
  const disk = smallDisk(test, 1)
  const filler = join(disk, 'filler')
  const { rows, page, warnings, stop } = reader(test, haproxy, join(disk, 'logs'))
  await send(port, get('/before'))
  await rows(1)
  for (let size = 1_044_480; size > 0; size -= 4_096) {
    try {
      writeFileSync(filler, Buffer.alloc(size))
      break
    } catch {
      // Smaller, until it fits.
    }
  }
  for (let at = 0; at < 300; at++) await send(port, get(`/${Buffer.from(String(Math.sin(at))).toString('hex')}`))
  await untilHolds(() => warnings.includes('the access log cannot be stored'))
  test.ok((await page()).rows.length < 301)
  rmSync(filler)
  test.equal((await rows(301)).length, 301)
  test.strictSame((await page()).losses, NO_LOSSES)
  await stop()
})

t.test('HAProxy serves on without a reader, and lines that do not fit into its ring are counted', async (test) => {
  const { haproxy, port } = await site(test, { enabled: true, headers: ['X-A', 'X-B', 'X-C', 'X-D', 'X-E', 'X-F'] })
  const long = ['A', 'B', 'C', 'D', 'E', 'F'].map((name) => `X-${name}: ${'v'.repeat(1_024)}\r\n`).join('')
  const sent = 2_400
  const client = async () => {
    const socket = connect(port, '127.0.0.1')
    const request = `GET /x HTTP/1.1\r\nHost: a\r\n${long}\r\n`
    for (let at = 0; at < sent / 4; at++) {
      socket.write(request)
      // The answer may arrive in pieces.
      let answer = ''
      while (!answer.endsWith('ok')) answer += String((await once(socket, 'data'))[0])
    }
    socket.destroy()
  }
  await Promise.all([client(), client(), client(), client()])
  const { rows, page } = reader(test, haproxy)
  const kept = await rows(sent)
  const { losses } = await page()
  test.ok(losses.lost > 0, 'the ring holds 16 MiB')
  test.equal(kept.length + losses.lost, sent)
})
