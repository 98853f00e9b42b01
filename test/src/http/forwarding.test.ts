import { request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { defer } from '../../../src/base/deferred.ts'
import { PeerError } from '../../../src/peers/peer-error.ts'
import { Doings, pipelineOf, SLICED_BYTES, twoNodes, UPLOAD_BYTES_MAX, urlOf } from '../../fixtures/forwarding.ts'
import { untilHolds } from '../../fixtures/until.ts'

const ANN = { authorization: 'Bearer ann' }
const JSON_BODY = { ...ANN, 'content-type': 'application/json' }
const BODY = JSON.stringify({ file: 'x' })

t.test('a read is answered by the node in its path, on behalf of the caller', async (test) => {
  const { url, near, far } = await twoNodes(test)
  const answer = await fetch(`${url}/lb2/hello/a%20b?`, { headers: ANN })
  test.same([answer.status, await answer.json()], [200, { status: 'success', message: 'ok', data: 'here' }])
  test.equal(answer.headers.get('x-request-id'), 'request-1')
  test.equal(answer.headers.get('cache-control'), 'no-store')
  test.same(near.asked, ['token'])
  test.same(far.asked, ['session-1 127.0.0.1'], 'the token stays at the first node')
  test.equal((await fetch(`${url}/%6cb2/hello/1`, { headers: ANN })).status, 200, 'an id in another spelling')
  test.equal((await fetch(`${url}/lb1/hello/1`, { headers: ANN })).status, 200)
  test.equal((await fetch(`${url}/everywhere`, { headers: ANN })).status, 200)
  test.equal(far.asked.length, 2, 'a path without another node is answered here')
})

t.test('the id of no member is refused as before, and so is every other form of one', async (test) => {
  const { url, far } = await twoNodes(test)
  for (const id of ['lb3', 'LB2', 'lb2%20', 'lb2%00']) {
    const answer = await fetch(`${url}/${id}/hello/1`, { headers: ANN })
    test.match([answer.status, await answer.json()], [404, { code: 'NOT_FOUND', message: /There is no node with id/ }])
  }
  test.same(far.asked, [])
})

t.test('a request that any node can answer is answered by the asked one, for every member', async (test) => {
  const { url, near, far } = await twoNodes(test)
  const status = async (path: string) => (await fetch(`${url}/${path}`, { headers: ANN })).status
  // The second time, the path is known.
  for (const path of ['lb1/kept', 'lb2/kept', 'lb2/kept', 'lb3/gone']) test.equal(await status(path), 200, path)
  test.equal(await status('lb3/kept'), 404)
  test.same([near.asked.length, far.asked.length], [5, 0])
})

t.test('tags, statuses and headers are those of the other node', async (test) => {
  const { url } = await twoNodes(test)
  const first = await fetch(`${url}/lb2/tagged`, { headers: ANN })
  test.same(
    [await first.text(), first.headers.get('etag'), first.headers.get('content-type')],
    ['raw', '"t1"', 'text/plain'],
  )
  const again = await fetch(`${url}/lb2/tagged`, { headers: { ...ANN, 'if-none-match': '"t1"' } })
  test.same([again.status, await again.text(), again.headers.get('etag')], [304, '', '"t1"'])
  for (const path of ['tagged', 'sliced', 'events']) {
    const head = await fetch(`${url}/lb2/${path}`, { method: 'HEAD', headers: ANN })
    test.same([head.status, await head.text()], [200, ''], path)
  }
  const refused = await fetch(`${url}/lb2/refuses`, { method: 'PUT', headers: ANN })
  test.match([refused.status, await refused.json()], [409, { code: 'IN_USE', data: { usage: [] } }])
  const missing = await fetch(`${url}/lb2/hello/1`, { method: 'DELETE', headers: ANN })
  test.equal(missing.status, 405)
})

t.test('a job that another node has begun is found under its Location', async (test) => {
  const { url, far } = await twoNodes(test)
  const begin = async (node: string) => {
    const answer = await fetch(`${url}/${node}/begin`, { method: 'PUT', headers: ANN })
    return [answer.status, answer.headers.get('location')]
  }
  test.same(await begin('lb1'), [202, '/api/v1/jobs/j1'])
  test.same(await begin('lb2'), [202, '/api/v1/jobs/j1?node=lb2'])
  const read = async (query: string) => (await fetch(`${url}/jobs/j1${query}`, { headers: ANN })).status
  const before = far.asked.length
  test.same([await read(''), await read('?node=lb1'), far.asked.length], [200, 200, before])
  test.same([await read('?node=lb2'), far.asked.length], [200, before + 1])
  test.same([await read('?node=lb3'), await read('?node=all')], [404, 404], 'it belongs to one node')
})

t.test('either node refuses a caller without access', async (test) => {
  const { url, near, far } = await twoNodes(test)
  far.users.clear()
  const there = await fetch(`${url}/lb2/hello/1`, { headers: ANN })
  test.match([there.status, await there.json()], [401, { code: 'TOKEN_EXPIRED' }])
  test.equal(there.headers.get('www-authenticate'), 'Bearer')
  near.users.clear()
  test.equal((await fetch(`${url}/lb2/hello/1`, { headers: ANN })).status, 401)
  test.equal((await fetch(`${url}/lb2/hello/1`)).status, 401)
  test.equal(far.asked.length, 1, 'a request refused here is not forwarded')
})

t.test('an upload of 20 MB is passed on; both nodes record it under one id', async (test) => {
  const { url, near, far } = await twoNodes(test)
  const file = 'x'.repeat(20 * 1024 * 1024)
  const answer = await fetch(`${url}/lb2/upload`, {
    method: 'POST',
    headers: JSON_BODY,
    body: JSON.stringify({ file }),
  })
  test.match([answer.status, await answer.json()], [200, { data: { length: file.length } }])
  test.match(near.audited, [{ requestId: 'request-1', forwardedTo: 'lb2', status: 200, body: undefined }])
  const told = { requestId: 'request-1', forwardedBy: 'lb1', forwardedTo: undefined, address: '127.0.0.1' }
  test.match(far.audited, [
    { ...told, status: undefined, body: { file } },
    { ...told, status: 200 },
  ])
  test.match(near.lines.join(''), /"message":"request","requestId":"request-1".*"forwardedTo":"lb2","status":200/)
})

t.test('a refusal of the other node is recorded by both, with its code', async (test) => {
  const { url, near, far } = await twoNodes(test)
  await fetch(`${url}/lb2/refuses`, { method: 'PUT', headers: ANN })
  await fetch(`${url}/lb2/secret`, { headers: ANN })
  test.match(near.audited, [
    { forwardedTo: 'lb2', status: 409, code: 'IN_USE' },
    { forwardedTo: 'lb2', status: 200, code: undefined },
  ])
  test.match(far.audited.at(-1), { forwardedBy: 'lb1', status: 200 })
})

t.test('a body that is too large is refused, whether announced or not', async (test) => {
  const { url, far, near } = await twoNodes(test)
  const piece = Buffer.alloc(1024 * 1024, ' ')
  const pieces = function* () {
    for (let sent = 0; sent <= UPLOAD_BYTES_MAX; sent += piece.length) yield piece
  }
  const send = { method: 'POST', headers: JSON_BODY, duplex: 'half' } as const
  const unsaid = await fetch(`${url}/lb2/upload`, { ...send, body: Readable.from(pieces()) as never })
  test.match([unsaid.status, await unsaid.json()], [413, { code: 'PAYLOAD_TOO_LARGE' }])
  const headers = { ...JSON_BODY, 'content-length': String(UPLOAD_BYTES_MAX + 1) }
  const said = httpRequest(`${url}/lb2/upload`, { method: 'POST', headers })
  said.on('error', () => undefined)
  const status = await new Promise((resolve) => {
    said.once('response', ({ statusCode }) => resolve(statusCode))
    said.write(piece)
  })
  said.destroy()
  test.equal(status, 413)
  test.same(far.lengths, [])
  test.match(near.audited, [{ status: 413 }, { status: 413 }])
})

t.test('an invalid body is refused by the other node', async (test) => {
  const { url, far } = await twoNodes(test)
  const plain = await fetch(`${url}/lb2/upload`, { method: 'POST', headers: ANN, body: BODY })
  test.equal(plain.status, 415)
  const wrong = await fetch(`${url}/lb2/upload`, { method: 'POST', headers: JSON_BODY, body: '{}' })
  test.equal(wrong.status, 422)
  const none = await fetch(`${url}/lb2/upload`, { method: 'POST', headers: ANN })
  test.equal(none.status, 422)
  test.same(far.lengths, [])
})

t.test('a body that could be read in two ways, or is compressed, is not forwarded', async (test) => {
  const pipeline = pipelineOf('lb1', new Doings(), {
    isMember: () => true,
    otherIds: () => ['lb2'],
    forward: () => test.fail('it was forwarded') as never,
  })
  const headers: Readonly<Record<string, string>> = JSON_BODY
  const incoming = {
    method: 'POST',
    path: '/api/v1/lb2/upload',
    query: '',
    address: '192.0.2.1',
    header: (name: string) => headers[name] ?? '',
    isAmbiguous: true,
    readBody: async () => Buffer.from(BODY),
  }
  test.match(await pipeline.handle(incoming, 'request-1'), { status: 400, code: 'MALFORMED_REQUEST' })
  const packed = (name: string) => (name === 'content-encoding' ? 'gzip' : incoming.header(name))
  const answer = await pipeline.handle({ ...incoming, isAmbiguous: false, header: packed }, 'request-2')
  test.match(answer, { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' })
})

t.test('a long answer is passed on piece by piece, and if it breaks off, it breaks off here as well', async (test) => {
  const { url } = await twoNodes(test)
  const whole = Buffer.from(await (await fetch(`${url}/lb2/sliced`, { headers: ANN })).arrayBuffer())
  test.equal(whole.length, SLICED_BYTES)
  test.ok(whole.every((byte) => byte === 'x'.charCodeAt(0)))
  await test.rejects(fetch(`${url}/lb2/broken`, { headers: ANN }).then((answer) => answer.text()))
})

async function following(test: Test) {
  const nodes = await twoNodes(test)
  const leaving = new AbortController()
  const answer = await fetch(`${nodes.url}/lb2/events`, { headers: ANN, signal: leaving.signal })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  const next = async () => (await reader?.read())?.value
  test.equal(await next(), 'data: begin\n\n')
  nodes.far.sinks[0]?.write('data: 1 ä\n\n')
  test.equal(await next(), 'data: 1 ä\n\n')
  return { ...nodes, next, leaving }
}

t.test('events of another node arrive whole, however they are cut', async (test) => {
  const { far, next } = await following(test)
  for (const piece of ['data: 2\n', '\ndata: 3\n\nda', 'ta: 4\n\n']) {
    far.sinks[0]?.write(piece)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  let text = ''
  while (!text.endsWith('data: 4\n\n')) {
    const piece = await next()
    test.ok(piece?.endsWith('\n\n'), JSON.stringify(piece))
    text += piece
  }
  test.equal(text, 'data: 2\n\ndata: 3\n\ndata: 4\n\n')
})

t.test('an endless stream ends at both nodes when the client leaves', async (test) => {
  const { far, leaving } = await following(test)
  leaving.abort()
  await untilHolds(() => far.stopped === 1)
  test.equal(far.stopped, 1)
})

for (const where of ['near', 'far'] as const) {
  t.test(`an endless stream ends when its user loses the right on the ${where} node`, async (test) => {
    mock.timers.enable({ apis: ['setInterval'] })
    test.teardown(() => mock.timers.reset())
    const nodes = await following(test)
    mock.timers.tick(15_000)
    test.equal(await nodes.next(), ': \n\n', 'of the other node, and no second one')
    nodes[where].users.clear()
    mock.timers.tick(15_000)
    test.equal(await nodes.next(), undefined)
    await untilHolds(() => nodes.far.stopped === 1)
  })
}

t.test('a stream ends when the other node is lost', async (test) => {
  const { line, next, far } = await following(test)
  line.cut()
  test.equal(await next(), undefined)
  await untilHolds(() => far.stopped === 1)
})

t.test('a missing node is named, and nothing was carried out', async (test) => {
  const { url, client, line, near } = await twoNodes(test)
  client.close()
  line.cut()
  const answer = await fetch(`${url}/lb2/refuses`, { method: 'PUT', headers: ANN })
  test.match([answer.status, await answer.json()], [503, { code: 'NODE_UNREACHABLE', data: { nodeId: 'lb2' } }])
  test.match(near.audited, [{ forwardedTo: 'lb2', status: 503, code: 'NODE_UNREACHABLE' }])
})

t.test('a node that is lost during the work may have completed it, and the refusal says so', async (test) => {
  const { url, line, near, far } = await twoNodes(test)
  let go = () => undefined as void
  far.wait = () => new Promise((resolve) => (go = resolve))
  const asked = fetch(`${url}/lb2/upload`, { method: 'POST', headers: JSON_BODY, body: BODY })
  await untilHolds(() => far.lengths.length === 1)
  line.cut()
  const answer = await asked
  test.match(
    [answer.status, await answer.json()],
    [503, { code: 'NODE_UNREACHABLE', message: /Load balancer 2/, data: { nodeId: 'lb2', mayBeDone: true } }],
  )
  test.match(near.audited, [{ status: 503, code: 'NODE_UNREACHABLE' }])
  go()
  await untilHolds(() => far.audited.length === 2)
  test.match(far.audited.at(-1), { status: 200 }, 'work that has begun completes, and is recorded there')
})

t.test('an upload whose client leaves is not begun', async (test) => {
  const { url, near, far } = await twoNodes(test)
  const headers = { ...JSON_BODY, 'content-length': '1000' }
  const sent = httpRequest(`${url}/lb2/upload`, { method: 'POST', headers })
  sent.on('error', () => undefined)
  sent.write('{')
  await untilHolds(() => far.asked.length === 1)
  sent.destroy()
  await untilHolds(() => far.audited.length === 1 && near.audited.length === 1)
  test.match(far.audited, [{ status: 400, code: 'MALFORMED_REQUEST' }])
  test.match(near.audited, [{ status: 503, forwardedTo: 'lb2' }])
  test.same(far.lengths, [])
})

t.test('a client that leaves while the other node is still being reached does no harm', async (test) => {
  const near = new Doings()
  const reached = defer()
  const nodes = {
    isMember: () => true,
    otherIds: () => ['lb2'],
    async forward(): Promise<never> {
      await reached.promise
      throw new PeerError('unreachable', 'The node cannot be reached')
    },
  }
  const url = await urlOf(test, pipelineOf('lb1', near, nodes))
  const sent = httpRequest(`${url}/lb2/upload`, { method: 'POST', headers: { ...JSON_BODY, 'content-length': '1000' } })
  sent.on('error', () => undefined)
  sent.write('{')
  await untilHolds(() => near.asked.length === 1)
  sent.destroy()
  const other = await fetch(`${url}/lb1/hello/1`, { headers: ANN })
  test.equal(other.status, 200, 'and the daemon continues')
  reached.resolve()
  await untilHolds(() => near.audited.length === 1)
  test.match(near.audited, [{ status: 503, code: 'NODE_UNREACHABLE' }])
})
