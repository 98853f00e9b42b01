import { once } from 'node:events'
import { Readable } from 'node:stream'
import t from 'tap'
import { defer } from '../../../src/base/deferred.ts'
import { get, lineTo, peerErrorOf, post, rawServer, TestCluster, textOf } from '../../fixtures/peers.ts'
import { untilHolds } from '../../fixtures/until.ts'

const cluster = await TestCluster.make()

const PIECE = Buffer.alloc(64 * 1024, 'x')
const PIECES = 1_024
/** Windows and buffers of streams and sockets, on both sides; of 64 MiB. */
const IN_FLIGHT_MAX = 8 * 1024 * 1024

/** Bytes that were produced and not read yet. */
class Flight {
  made = 0
  taken = 0
  most = 0

  async *source(pieces = PIECES): AsyncGenerator<Uint8Array> {
    for (let count = 0; count < pieces; count++) {
      this.made += PIECE.length
      this.most = Math.max(this.most, this.made - this.taken)
      yield PIECE
    }
  }

  /** Begins only when no more is produced: all buffers are full then. */
  async drain(body: Readable): Promise<void> {
    for (let [before, turns] = [-1, 0]; turns < 200; turns++) {
      if (before !== this.made) turns = 0
      before = this.made
      await new Promise(setImmediate)
    }
    for await (const piece of body) this.taken += (piece as Buffer).length
  }
}

t.test('64 MiB pass in either direction, with little in flight at a time', async (test) => {
  const [up, down] = [new Flight(), new Flight()]
  const server = await cluster.serve(test, async ({ body, method }) => {
    if (method === 'GET') return { status: 200, headers: {}, body: down.source() }
    await up.drain(body)
    return { status: 200, headers: {} }
  })
  const client = cluster.client(test, server.port)
  const answer = await client.forward(get('/download'))
  await down.drain(answer.body)
  test.equal(down.taken, PIECE.length * PIECES)
  test.ok(down.most < IN_FLIGHT_MAX, `down: ${down.most}`)
  test.equal((await client.forward(post('/upload', up.source()))).status, 200)
  test.equal(up.taken, PIECE.length * PIECES)
  test.ok(up.most < IN_FLIGHT_MAX, `up: ${up.most}`)
})

t.test('a stalled reader does not block others', async (test) => {
  const server = await cluster.serve(test, ({ path }) =>
    path === '/slow'
      ? { status: 200, headers: {}, body: new Flight().source() }
      : { status: 200, headers: {}, body: 'b' },
  )
  const client = cluster.client(test, server.port)
  // More than the window of the session would hold.
  const slow = await Promise.all(Array.from({ length: 20 }, () => client.forward(get('/slow'))))
  for (let count = 0; count < 20; count++) test.equal(await textOf((await client.forward(get('/b'))).body), 'b')
  for (const { body } of slow) body.destroy()
})

t.test('an endless body: each piece arrives when it is made, until its reader has enough', async (test) => {
  const said = new Readable({ read: () => undefined })
  let isAborted = false
  const server = await cluster.serve(test, ({ signal }) => {
    signal.addEventListener('abort', () => (isAborted = true))
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: said }
  })
  const client = cluster.client(test, server.port)
  const { body, headers } = await client.forward(get('/events'))
  test.equal(headers['content-type'], 'text/event-stream')
  for (let id = 0; id < 50; id++) {
    said.push(`id: ${id}\n\n`)
    const [piece] = (await once(body, 'data')) as [Buffer]
    test.equal(String(piece), `id: ${id}\n\n`)
  }
  test.notOk(isAborted)
  body.destroy()
  await untilHolds(() => said.destroyed)
  await untilHolds(() => isAborted)
})

t.test('an upload that ends midway is no upload: neither its source nor its sender completes it', async (test) => {
  const failed: unknown[] = []
  const begun = [defer(), defer(), defer()]
  const server = await cluster.serve(test, async ({ body, path }) => {
    try {
      for await (const _ of body) begun[Number(path.slice(1))]?.resolve()
    } catch (error) {
      failed.push(error)
      throw error
    }
    return { status: 200, headers: {} }
  })
  const client = cluster.client(test, server.port)
  async function* broken() {
    yield PIECE
    await begun[0]?.promise
    throw new Error('the client went away')
  }
  test.match(await peerErrorOf(client.forward(post('/0', broken()))), { kind: 'aborted', message: /ended early/ })
  // A source that is destroyed without an error, as sockets are.
  const source = new Readable({ read: () => undefined })
  source.push(PIECE)
  void begun[1]?.promise.then(() => source.destroy())
  test.equal((await peerErrorOf(client.forward(post('/1', source)))).kind, 'aborted')
  const controller = new AbortController()
  void begun[2]?.promise.then(() => controller.abort())
  const endless = new Readable({ read: () => undefined })
  endless.push(PIECE)
  test.equal((await peerErrorOf(client.forward(post('/2', endless, { signal: controller.signal })))).kind, 'aborted')
  await untilHolds(() => endless.destroyed)
  await untilHolds(() => failed.length === 3)
  test.match(String(failed[0]), /is incomplete/)
})

t.test('an answer during the upload: the rest is not sent', async (test) => {
  const server = await cluster.serve(test, async ({ body, path }) => {
    await once(body, 'data')
    body.pause()
    return path === '/empty' ? { status: 403, headers: {} } : { status: 413, headers: {}, body: 'too large' }
  })
  const client = cluster.client(test, server.port)
  for (const path of ['/empty', '/text']) {
    let isEnded = false
    async function* endless() {
      try {
        for (;;) yield PIECE
      } finally {
        isEnded = true
      }
    }
    const answer = await client.forward(post(path, endless()))
    test.equal(await textOf(answer.body), path === '/empty' ? '' : 'too large')
    await untilHolds(() => isEnded)
  }
})

t.test('an answer that breaks off is an error, never a shorter answer', async (test) => {
  const gate = defer()
  async function* breaks() {
    yield PIECE
    await gate.promise
    throw new Error('the disk is gone')
  }
  const server = await cluster.serve(test, () => ({ status: 200, headers: {}, body: breaks() }))
  const line = await lineTo(test, server.port)
  const client = cluster.client(test, line.port)
  const cut = await client.forward(get('/a'))
  await once(cut.body, 'data')
  line.cut()
  test.match(await peerErrorOf(textOf(cut.body)), {
    kind: 'lost',
    message: /^The node Load balancer 2 is lost since \d/,
  })
  const failed = await client.forward(get('/a'))
  gate.resolve()
  test.match(await peerErrorOf(textOf(failed.body)), {
    kind: 'lost',
    message: /aborted its answer; it is unknown whether/,
  })
})

t.test('a stream that was reset without an error, or ended without its end mark, is incomplete', async (test) => {
  for (const path of ['/reset', '/ended', '/aborted'] as const) {
    const port = await rawServer(test, cluster.lb2.credentials, (stream) => {
      stream.respond({ ':status': 200 })
      stream.write('half', () => {
        if (path === '/ended') stream.end()
        else stream.close(path === '/reset' ? 0 : 8)
      })
    })
    const answer = await cluster.client(test, port).forward(get(path))
    test.equal((await peerErrorOf(textOf(answer.body))).kind, 'lost', path)
  }
})

t.test('bytes and texts, also empty ones', async (test) => {
  const server = await cluster.serve(test, async ({ body, path }) => ({
    status: 200,
    headers: {},
    body: path === '/back' ? body : Buffer.from(await textOf(body)),
  }))
  const client = cluster.client(test, server.port)
  for (const text of ['', 'é', 'x'.repeat(300_000)]) {
    for (const path of ['/back', '/bytes']) {
      test.equal(await textOf((await client.forward(post(path, text))).body), text)
      test.equal(await textOf((await client.forward(post(path, Buffer.from(text)))).body), text)
    }
  }
})
