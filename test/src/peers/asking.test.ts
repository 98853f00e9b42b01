import t from 'tap'
import { get, peerErrorOf, post, rawServer, TestCluster, textOf } from '../../fixtures/peers.ts'
import { untilHolds } from '../../fixtures/until.ts'

const cluster = await TestCluster.make()

t.test('a client that leaves resets the stream, before the answer and during it', async (test) => {
  const aborted: string[] = []
  async function* goesOn() {
    yield 'begun'
    await new Promise(() => undefined)
  }
  const asked: string[] = []
  const server = await cluster.serve(test, async ({ path, signal }) => {
    asked.push(path)
    signal.addEventListener('abort', () => aborted.push(path))
    if (path === '/before') await new Promise(() => undefined)
    return { status: 200, headers: {}, body: goesOn() }
  })
  const client = cluster.client(test, server.port)
  const [before, amid] = [new AbortController(), new AbortController()]
  const waiting = peerErrorOf(client.forward(get('/before', { signal: before.signal })))
  await untilHolds(() => asked.length === 1)
  before.abort()
  test.equal((await waiting).kind, 'aborted')
  const answer = await client.forward(get('/amid', { signal: amid.signal }))
  amid.abort()
  test.equal((await peerErrorOf(textOf(answer.body))).kind, 'aborted')
  await untilHolds(() => aborted.length === 2)
  const gone = await peerErrorOf(client.forward(get('/never', { signal: AbortSignal.abort() })))
  test.equal(gone.kind, 'aborted')
  test.same(asked, ['/before', '/amid'])
})

t.test('an answer that says why the request was refused', async (test) => {
  const port = await rawServer(test, cluster.lb2.credentials, (stream) => {
    stream.respond({ ':status': 400, 'fulcrum-refused': 'It is too new' }, { endStream: true })
  })
  test.match(await peerErrorOf(cluster.client(test, port).forward(post('/a', 'b'))), {
    kind: 'refused',
    message: 'It is too new',
  })
})

t.test('a stream refused by HTTP/2 was not processed; one that was reset may have been', async (test) => {
  const port = await rawServer(test, cluster.lb2.credentials, (stream, { ':path': path }) => {
    stream.close(Number(path?.slice(1)))
  })
  const client = cluster.client(test, port)
  test.equal((await peerErrorOf(client.forward(get('/7')))).kind, 'busy')
  for (const code of [0, 2, 8, 11]) {
    test.match(await peerErrorOf(client.forward(get(`/${code}`))), { kind: 'lost', message: /whether the request was/ })
  }
})

t.test('an upload that is reset, or refused, midway', async (test) => {
  const port = await rawServer(test, cluster.lb2.credentials, (stream, { ':path': path }) => {
    if (path === '/refused') stream.respond({ ':status': 400, 'fulcrum-refused': 'It is too new' }, { endStream: true })
    if (path === '/half') stream.respond({ ':status': 200 })
    if (path === '/half') stream.write('half')
    if (path !== '/refused') stream.once('data', () => stream.pause().close(0))
  })
  const client = cluster.client(test, port)
  for (const [path, kind] of [
    ['/reset', 'lost'],
    ['/refused', 'refused'],
    ['/half', 'lost'],
  ] as const) {
    let isEnded = false
    async function* endless() {
      try {
        for (;;) yield Buffer.alloc(65_536)
      } finally {
        isEnded = true
      }
    }
    const text = async () => await textOf((await client.forward(post(path, endless()))).body)
    test.equal((await peerErrorOf(text())).kind, kind, path)
    await untilHolds(() => isEnded)
  }
})

t.test('headers of an answer that must not be forwarded are dropped by the receiver', async (test) => {
  const port = await rawServer(test, cluster.lb2.credentials, (stream) => {
    stream.respond(
      { ':status': 200, 'set-cookie': ['a=b'], authorization: 'x', etag: '"1"', server: 'y' },
      { endStream: true },
    )
  })
  const { headers, status } = await cluster.client(test, port).forward(get('/a'))
  test.same({ status, headers }, { status: 200, headers: { etag: '"1"' } })
})
