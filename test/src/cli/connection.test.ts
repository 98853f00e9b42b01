import type { RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { Connection, placeOf, Refusal, shownBy } from '../../../src/cli/connection.ts'
import { cliFixture } from '../../fixtures/cli.ts'
import { httpServer } from '../../fixtures/traffic.ts'
import { untilHolds } from '../../fixtures/until.ts'

const fixture = cliFixture(t)

async function server(test: Test, answer: RequestListener) {
  const connection = new Connection({ url: `http://127.0.0.1:${await httpServer(test, answer)}` })
  test.teardown(() => connection.close())
  return connection
}

t.test('only the accepted certificate is trusted', async (test) => {
  const { url, token, fingerprint, call } = await fixture(test)
  const seen = async (target: { fingerprint?: string }) => {
    const connection = new Connection({ url, token, ...target })
    try {
      return (await connection.ask('GET', '/ping')).message
    } finally {
      connection.close()
    }
  }
  test.equal(await seen({ fingerprint }), 'pong')
  test.equal(
    await seen({ fingerprint: `${fingerprint.replaceAll(':', '').toLowerCase()}\n` }),
    'pong',
    'as printed by openssl',
  )
  const before = (await call('GET', '/audit?limit=1')).json.data[0]?.seq
  const other = fingerprint.replace(/^../, 'FF').replace(/..$/, '00')
  await test.rejects(seen({ fingerprint: other }), {
    message: /has changed since it was accepted.*log in again/,
  })
  await test.rejects(seen({}), { message: /is not signed by a trusted authority/ })
  test.equal((await call('GET', '/audit?limit=1')).json.data[0]?.seq, before, 'nothing was sent')
  test.match(await shownBy(url), { fingerprint, isTrusted: false })
})

t.test('refusals and connection errors are one line each', async (test) => {
  const { url, fingerprint } = await fixture(test)
  const connection = new Connection({ url, token: 'wrong', fingerprint })
  test.teardown(() => connection.close())
  await test.rejects(connection.ask('GET', '/services/pending'), {
    code: 'UNAUTHENTICATED',
    message: /\(UNAUTHENTICATED\)$/,
  })
  for (const method of ['GET', 'PUT'])
    await test.rejects(new Connection({ url: 'http://127.0.0.1:1' }).ask(method, '/ping'), {
      message: 'http://127.0.0.1:1 cannot be reached: nothing listens there',
    })
  const strange = await server(test, (_request, response) => response.writeHead(404).end('<html>'))
  await test.rejects(strange.ask('GET', '/ping'), { message: /has the status 404, and is not from Fulcrum/ })
  const broken = await server(test, (request) => request.socket.destroy())
  await test.rejects(broken.ask('GET', '/ping'), { message: /cannot be reached/ })
  const garbled = await server(test, (request) => request.socket.end('no HTTP\r\n\r\n'))
  await test.rejects(garbled.ask('PUT', '/services/apply'), {
    message: /may have been carried out: check before you repeat it$/,
  })
})

t.test('errors that the message only refers to are shown below it', async (test) => {
  const refusalOf = async (message: string, told: readonly string[]) => {
    const errors = told.map((text, at) => ({ field: `f${at}`, code: 'X', message: text }))
    const refusing = await server(test, (_request, response) =>
      response.writeHead(409).end(JSON.stringify({ message, code: 'X', errors })),
    )
    const refusal: unknown = await refusing.ask('PUT', '/x').catch((error: unknown) => error)
    return refusal instanceof Refusal ? refusal.message : refusal
  }
  const needed = 'It needs other changes, listed in errors: apply those as well'
  const shown = 'It needs other changes, listed below: apply those as well (X)'
  test.equal(await refusalOf(needed, ['web1 is needed']), `${shown}\n  f0: web1 is needed`)
  test.equal(await refusalOf(needed, ['web1', 'web2']), `${shown}\n  f0: web1\n  f1: web2`)
  test.equal(await refusalOf('1 problem: f0 is bad', ['is bad']), '1 problem: f0 is bad (X)')
  test.equal(await refusalOf('The name is already taken', ['is taken']), 'The name is already taken (X)')
  test.equal(
    await refusalOf('2 problems: f0 is bad; f1 is', ['is bad', 'is']),
    '2 problems (X)\n  f0: is bad\n  f1: is',
  )
})

t.test('the result of a failed step of an apply is shown below the refusal', async (test) => {
  const nodes = [
    { ok: true, output: 'well' },
    { ok: false, step: 'reload HAProxy', output: '[NOTICE] loading\n[ALERT] no such address\n' },
    { ok: false, step: 'ask the node', output: '' },
  ]
  const refusing = await server(test, (_request, response) =>
    response.writeHead(502).end(JSON.stringify({ message: 'undone', code: 'APPLY_PARTIAL', data: { nodes } })),
  )
  const message = 'undone (APPLY_PARTIAL)\n  [NOTICE] loading\n  [ALERT] no such address'
  await test.rejects(refusing.ask('PUT', '/services/apply'), { message })
})

t.test('a request without an answer yet is in doubt, unless it changes nothing', async (test) => {
  const ends: (() => void)[] = []
  const slow = await server(test, (_request, response) => void ends.push(() => response.end('{}')))
  test.equal(slow.doubt, undefined)
  for (const [method, path, doubt] of [
    ['PUT', '/services/apply', 'the request may have been carried out: check before you repeat it'],
    ['GET', '/services/apply', undefined],
    ['POST', '/config/plan', undefined],
  ] as const) {
    const asked = slow.ask(method, path)
    await untilHolds(() => ends.length > 0)
    test.equal(slow.doubt, doubt, `${method} ${path}`)
    ends.pop()?.()
    await asked
    test.equal(slow.doubt, undefined)
  }
})

t.test('an answer that breaks off is discarded', async (test) => {
  const breaking = await server(test, (_request, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('{"message": "half', () => response.socket?.destroy())
  })
  for (const method of ['GET', 'PUT'])
    await test.rejects(breaking.ask(method, '/x'), {
      name: 'Failure',
      message:
        method === 'GET'
          ? /: the connection was reset$/
          : /: the connection was reset; .* may have been carried out: check/,
    })
})

t.test('values that no request can hold are reported in one line', async (test) => {
  const never = await server(test, (_request, response) => response.end('{}'))
  for (const sent of [{ headers: { x: 'ж' } }, { headers: { 'a b': 'x' } }])
    await test.rejects(never.ask('GET', '/x', sent), { name: 'Failure', message: /^the request cannot be sent: / })
  await test.rejects(never.ask('GET', '/ж'), { name: 'Failure', message: /^the request cannot be sent: / })
  const strange = new Connection({ url: 'http://127.0.0.1:1', token: 'ж' })
  await test.rejects(strange.ask('GET', '/x'), { name: 'Failure', message: /^the request cannot be sent: / })
})

t.test('hosts and ports of addresses', (test) => {
  const places = ['https://lb1', 'http://127.0.0.1', 'https://[2001:db8::1]:9443'].map(placeOf)
  test.same(
    places.map(({ host, port }) => `${host} ${port}`),
    ['lb1 443', '127.0.0.1 80', '2001:db8::1 9443'],
  )
  test.end()
})

t.test('continuing work is reported', async (test) => {
  const working = await server(test, (_request, response) =>
    response.writeHead(202).end(JSON.stringify({ message: 'begun', data: {}, job: 'j1' })),
  )
  test.match(await working.ask('PUT', '/x'), { message: 'begun', job: 'j1', next: undefined })
})

t.test('refusals name options and commands of this program', async (test) => {
  const message = 'no: see GET /services/pending, or send {"mine": true}'
  const refusing = await server(test, (_request, response) =>
    response.writeHead(409).end(JSON.stringify({ message, code: 'WARNINGS' })),
  )
  const refusal: unknown = await refusing.ask('PUT', '/x').catch((error: unknown) => error)
  if (!(refusal instanceof Refusal)) throw refusal
  test.equal(refusal.message, 'no: see fulcrum pending, or send --mine (WARNINGS)')
  test.equal(refusal.inItsWords.message, `${message} (WARNINGS)`)
})

t.test('a busy daemon is asked again after the time that it names', async (test) => {
  let asked = 0
  const busy = await server(test, (_request, response) => {
    asked += 1
    const body = { status: 'error', message: 'busy', code: 'APPLY_IN_PROGRESS' }
    if (asked < 3) response.writeHead(409, { 'retry-after': '0' }).end(JSON.stringify(body))
    else response.end(JSON.stringify({ status: 'success', message: 'done', data: 7 }))
  })
  test.same([await busy.get('/x'), asked], [7, 3])
  const full = await server(test, (_request, response) =>
    response.writeHead(429, { 'retry-after': '900' }).end(JSON.stringify({ message: 'later', code: 'RATE_LIMITED' })),
  )
  await test.rejects(full.get('/x'), { message: 'later (RATE_LIMITED)' }, 'a quarter of an hour is too long to wait')
})

t.test('lists are read to their end, and streams event by event', async (test) => {
  const pages = await server(test, ({ url }, response) => {
    const isFirst = !String(url).includes('after=')
    response.end(JSON.stringify({ message: 'page', data: [isFirst ? 1 : 2], ...(isFirst ? { next: 'x' } : {}) }))
  })
  test.same(await pages.list('/things', { name: 'a b' }), [1, 2])
  const asked: unknown[] = []
  const stream = await server(test, ({ url, headers }, response) => {
    asked.push([url, headers['last-event-id']])
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('retry: 1\n\n: hello\n\nid: 4\nevent: apply\nda')
    setTimeout(() => response.end('ta: {"a":\ndata: 1}\n\n'), 20)
  })
  const events = []
  const enough = new AbortController()
  for await (const event of stream.events('/events', { kinds: 'apply' }, enough.signal)) {
    events.push(event)
    if (events.length === 2) enough.abort()
  }
  const event = { id: '4', event: 'apply', data: { a: 1 } }
  test.same(events, [event, event], 'it is opened again where it broke off')
  const path = '/api/v1/events?kinds=apply'
  test.same(asked, [
    [path, undefined],
    [path, '4'],
  ])
})

t.test('the program does not wait for a stream that does not begin, or is refused', async (test) => {
  const { signal } = new AbortController()
  const first = (connection: Connection) => connection.events('/events', {}, signal).next()
  const nobody = new Connection({ url: 'http://127.0.0.1:1' })
  await test.rejects(first(nobody), { message: /nothing listens there/, isLost: false })
  const refusing = await server(test, (_request, response) =>
    response.writeHead(503).end(JSON.stringify({ message: 'no', code: 'NO_QUORUM' })),
  )
  await test.rejects(first(refusing), { message: 'no (NO_QUORUM)' })
})

t.test('reads are repeated when the connection broke, and nothing else is', async (test) => {
  const asked: (string | undefined)[] = []
  const breaking = await server(test, ({ method, socket }, response) => {
    asked.push(method)
    if (asked.length < 3) socket.destroy()
    else response.end(JSON.stringify({ message: 'done', data: 7 }))
  })
  test.equal(await breaking.get('/x'), 7)
  asked.length = 0
  await test.rejects(breaking.ask('PUT', '/x'), { message: /the connection was reset/, isLost: true })
  test.same(asked, ['PUT'])
})
