import { buffer } from 'node:stream/consumers'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import t from 'tap'
import { Exchange } from '../../../src/http/exchange.ts'
import { Owed } from '../../../src/http/owed.ts'

function made(method: string, headers: Readonly<Record<string, string>> = {}, isDraining = false, from = '192.0.2.1') {
  let gone = () => undefined as void
  let come = (_chunk: ArrayBuffer, _last: boolean) => undefined as void
  const flow: string[] = []
  const request = {
    getCaseSensitiveMethod: () => method,
    getUrl: () => '/a',
    getQuery: () => undefined,
    getHeader: (name: string) => headers[name] ?? '',
    forEach: (each: (name: string, value: string) => void) => Object.entries(headers).forEach(([n, v]) => each(n, v)),
  }
  const response = {
    onAborted: (handler: () => void) => (gone = handler),
    getRemoteAddressAsText: () => new TextEncoder().encode(from).buffer,
    onData: (handler: (chunk: ArrayBuffer, last: boolean) => void) => (come = handler),
    pause: () => flow.push('pause'),
    resume: () => flow.push('resume'),
    close: () => {
      flow.push('close')
      gone()
    },
  }
  const exchange = new Exchange(response as unknown as HttpResponse, request as unknown as HttpRequest, {
    isDraining,
    isLocal: false,
    owed: new Owed(),
    endless: new Set(),
    commonHead: '\r\nX-A: b',
  })
  return {
    exchange,
    flow,
    leave: () => gone(),
    come: (bytes: number, last: boolean) => come(new ArrayBuffer(bytes), last),
  }
}

t.test('headers can be read until the request is handed back, the address until the client is gone', async (test) => {
  const { exchange } = made('GET', { accept: 'text/csv' })
  test.match(exchange, { method: 'GET', path: '/a', query: '' })
  test.equal(exchange.headBehind({ status: 200, contentType: 'a/b', body: '', headers: {} }), '\r\nX-A: b')
  test.equal(exchange.header('accept'), 'text/csv')
  exchange.release()
  test.equal(exchange.header('accept'), '')
  test.equal(exchange.address, '192.0.2.1')
  const { exchange: left, leave } = made('GET')
  left.onGone(() => undefined)
  leave()
  test.equal(left.address, '')
})

t.test('an IPv6 address is told in its shortest form', async (test) => {
  const from = '2001:0db8:0000:0000:0000:0000:0000:000a'
  test.equal(made('GET', {}, false, from).exchange.address, '2001:db8::a')
})

t.test('a lost client is reported once, to the last listener', async (test) => {
  const { exchange, leave } = made('GET')
  const told: string[] = []
  exchange.onGone(() => told.push('first'))
  exchange.onGone(() => told.push('second'))
  test.notOk(exchange.aborted)
  leave()
  test.ok(exchange.aborted)
  test.same(told, ['second'])
})

t.test('a connection ends after an ambiguous request, and when its listener is closed', async (test) => {
  test.notOk(made('GET').exchange.isLast)
  test.ok(made('GET', {}, true).exchange.isLast)
  test.ok(made('POST', { 'transfer-encoding': 'chunked' }).exchange.isLast)
  const { exchange } = made('GET', { 'content-length': '2' })
  test.ok(exchange.hasUnwantedBody && exchange.isUnclear)
})

t.test('a connection is resumed when it was paused, and only then', async (test) => {
  // uWebSockets.js would not read the next request of one that was not.
  const small = made('PUT', { 'content-length': '9' })
  const body = small.exchange.streamBody(1024)
  small.come(9, true)
  test.equal((await buffer(body)).length, 9)
  test.same(small.flow, [])
  const large = made('PUT')
  const slow = large.exchange.streamBody(4 * 1024 * 1024)
  large.come(1024 * 1024, false)
  test.same(large.flow, ['pause'])
  large.come(1024, true)
  test.equal((await buffer(slow)).length, 1024 * 1024 + 1024)
  test.same(large.flow, ['pause', 'resume'])
})

t.test('of all slow senders, the one that was silent for longest is cut off when there are too many', async (test) => {
  const half_bytes = 512 * 1_024
  const bodies = Array.from({ length: 257 }, () => {
    const one = made('POST')
    one.exchange.onGone(() => undefined)
    const read = one.exchange.readBody(1_024 * 1_024).then(
      (body) => body?.length,
      () => 'gone',
    )
    one.come(half_bytes, false)
    return { ...one, read }
  })
  const [first, second] = bodies
  test.equal(await first?.read, 'gone')
  test.same(first?.flow, ['close'])
  second?.come(1, true)
  test.equal(await second?.read, half_bytes + 1, 'others continue')
  for (const { leave } of bodies.slice(2)) leave()
  test.same(await Promise.all(bodies.slice(2).map(({ read }) => read)), Array(255).fill('gone'))
  const last = made('POST')
  const read = last.exchange.readBody(1_024 * 1_024)
  last.come(half_bytes, false)
  test.same(last.flow, [], 'there is room again')
  last.come(0, true)
  test.equal((await read)?.length, half_bytes)
})
