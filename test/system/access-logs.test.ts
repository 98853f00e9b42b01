import t from 'tap'
import { NO_LOSSES } from '../fixtures/log-rows.ts'
import { get, reader, send, site } from './access-log-fixture.ts'

/** Lines that a real HAProxy logs, and the rows stored from them. */

t.test('a request is one line with the request, the server that answered and the time it took', async (test) => {
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

t.test('whatever bytes a client sends, its line is one line, and the next line is whole', async (test) => {
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
  for (const [n, [value]] of hostile.entries()) await send(port, get(`/${n}`, `X-A: ${value}\r\n`))
  await send(port, get(`/${'p'.repeat(9_000)}`))
  await send(port, get(`/${'p'.repeat(70_000)}`))
  await send(port, 'NO \u0001\u0000 request\r\n\r\n')
  await send(port, get('/last'))
  // A client has its answer before the line is written, and HAProxy's threads write in any order.
  const all = await rows(hostile.length + 4)
  const of = (path: string) => all.filter((row) => row.path === path)
  for (const [n, [, kept]] of hostile.entries())
    test.strictSame(
      of(`/${n}`).map(({ headers }) => JSON.parse(headers)),
      [{ 'X-A': kept }],
      `line ${n}`,
    )
  test.equal(of(`/${'p'.repeat(4_095)}`).length, 1, 'a long path is cut off')
  test.match(of(''), [
    { status: 400, method: '' },
    { status: 400, method: '' },
  ])
  test.equal(of('/last').length, 1)
  test.equal(all.length, hostile.length + 4)
  test.strictSame((await page()).losses, NO_LOSSES)
})

t.test("a line that exceeds HAProxy's buffer keeps what fits", async (test) => {
  const names = Array.from({ length: 16 }, (_, at) => `X-${at}`)
  const { haproxy, port } = await site(test, { enabled: true, headers: names })
  const { rows, page } = reader(test, haproxy)
  // HAProxy would skip a longer line, and its number would be missing only once another line comes.
  for (let bytes = 500; bytes <= 650; bytes += 10)
    await send(
      port,
      get(`/${bytes}${'~'.repeat(4_092)}`, names.map((name) => `${name}: ${'a'.repeat(bytes)}\r\n`).join('')),
    )
  const all = await rows(16)
  test.strictSame((await page()).losses, NO_LOSSES)
  for (const { path, headers, method, version, status } of all) {
    test.strictSame([path.length, method, version, status], [4_096, 'GET', 'HTTP/1.1', 200])
    const bytes = Number(path.slice(1, 4))
    const kept: readonly string[] = names.map((name) => JSON.parse(headers)[name] ?? '')
    const whole = kept.findIndex((value) => value.length < bytes)
    test.ok(whole === -1 || (whole >= 10 && kept.slice(whole + 1).every((value) => value === '')), `${bytes}: ${whole}`)
  }
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

t.test('lines that arrive without a reader are read later, once', async (test) => {
  const { haproxy, port } = await site(test)
  const first = reader(test, haproxy)
  await send(port, get('/1'))
  await first.rows(1)
  await first.stop()
  for (const path of ['/2', '/3']) await send(port, get(path))
  const { rows, page } = reader(test, haproxy)
  await send(port, get('/4'))
  // HAProxy's threads write their lines in any order.
  test.strictSame((await rows(4)).map(({ path }) => path).toSorted(), ['/1', '/2', '/3', '/4'])
  test.strictSame((await page()).losses, NO_LOSSES)
})

t.test('with sampling, one line in so many is kept, and the others do not count as lost', async (test) => {
  const { haproxy, port } = await site(test, { enabled: true, sample: 1_000_000 })
  const { rows, page } = reader(test, haproxy)
  for (let at = 0; at < 20; at++) await send(port, get('/sampled'))
  // Lines that are no requests are always kept.
  await send(port, 'NO request\r\n\r\n')
  test.match(await rows(1), [{ status: 400 }])
  test.strictSame((await page()).losses, NO_LOSSES)
})
