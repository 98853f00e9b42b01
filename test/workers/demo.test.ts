import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import type { DemoData, DemoReport } from '../../workers/demo.ts'
import { until } from '../fixtures/until.ts'

async function listening(t: Test, server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

async function startDemo(t: Test, data: DemoData): Promise<{ worker: Worker; report: DemoReport }> {
  const worker = new Worker(new URL('../../workers/demo.ts', import.meta.url), { workerData: data })
  t.teardown(() => worker.terminate())
  const [report] = (await once(worker, 'message')) as [DemoReport]
  return { worker, report }
}

async function stopDemo(worker: Worker): Promise<unknown> {
  const ended = once(worker, 'exit')
  worker.postMessage({ type: 'stop' })
  const [exitCode] = await ended
  return exitCode
}

async function fetchText(url: string): Promise<{ answer: IncomingMessage; body: string }> {
  const [answer] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage]
  return { answer, body: await text(answer) }
}

/** Returns a port that was free a moment ago. */
async function freePort(t: Test): Promise<number> {
  const server = createTcpServer()
  const port = await listening(t, server)
  server.close()
  await once(server, 'close')
  return port
}

t.test('two origins answer with their name, varying sizes and a health page', async (t) => {
  const frontendUrl = `http://127.0.0.1:${await freePort(t)}/`
  const { worker, report } = await startDemo(t, {
    originPorts: [0, 0],
    frontendUrls: [frontendUrl],
    requestsPerSecond: 1,
  })
  t.equal(report.type, 'ready')
  const [first, second] = report.type === 'ready' ? report.originPorts : [0, 0]
  t.not(first, second)
  for (const [port, name] of [
    [first, 'origin-1'],
    [second, 'origin-2'],
  ] as const) {
    const sizes = new Set<number>()
    for (let n = 0; n < 8; n += 1) {
      const { answer, body } = await fetchText(`http://127.0.0.1:${port}/`)
      t.equal(answer.statusCode, 200)
      t.equal(answer.headers['x-origin'], name)
      t.ok(body.startsWith(`${name}\n`))
      t.ok(body.length >= 300 && body.length <= 4000)
      sizes.add(body.length)
    }
    t.ok(sizes.size >= 5, 'sizes vary')
    t.equal((await fetchText(`http://127.0.0.1:${port}/health`)).body, 'ok\n')
  }
  t.equal(await stopDemo(worker), 0, 'ends on request')
})

t.test('sends about the wanted rate, on persistent and on new connections', async (t) => {
  let requests = 0
  const perConnection = new Map<unknown, number>()
  const frontend = createServer((incoming, answer) => {
    requests += 1
    perConnection.set(incoming.socket, (perConnection.get(incoming.socket) ?? 0) + 1)
    answer.end('hello')
    if (requests === 60) frontend.emit('enough')
  })
  const enough = once(frontend, 'enough')
  const port = await listening(t, frontend)
  const started = performance.now()
  const { worker } = await startDemo(t, {
    originPorts: [0, 0],
    frontendUrls: [`http://127.0.0.1:${port}/`],
    requestsPerSecond: 40,
  })
  await enough
  t.ok(performance.now() - started > 1000, 'not much faster than requested')
  const counts = [...perConnection.values()]
  t.ok(Math.max(...counts) > 10, 'some connections are persistent')
  t.ok(counts.filter((count) => count === 1).length > 20, 'some are new')
  t.equal(await stopDemo(worker), 0)
})

t.test('waits for a frontend that does not exist yet', async (t) => {
  const port = await freePort(t)
  const { worker, report } = await startDemo(t, {
    originPorts: [0, 0],
    frontendUrls: [`http://127.0.0.1:${port}/`],
    requestsPerSecond: 200,
  })
  t.equal(report.type, 'ready')
  await new Promise((resolve) => setTimeout(resolve, 700))
  const frontend = createServer((_, answer) => answer.end('hello'))
  const answered = once(frontend, 'request')
  await listening(t, frontend, port)
  await answered
  t.pass('traffic came once it existed')
  t.equal(await stopDemo(worker), 0)
})

t.test('does not pile up connections before a frontend that never answers', async (t) => {
  let open = 0
  let openMax = 0
  let opened = 0
  const frontend = createTcpServer((socket) => {
    open += 1
    opened += 1
    openMax = Math.max(open, openMax)
    socket.on('close', () => (open -= 1)).on('error', () => undefined)
    socket.resume()
  })
  const port = await listening(t, frontend)
  const { worker } = await startDemo(t, {
    originPorts: [0, 0],
    frontendUrls: [`http://127.0.0.1:${port}/`],
    requestsPerSecond: 500,
  })
  const counted = async () => ({ opened, open })
  await until('it to try', counted, (now) => now.opened >= 8)
  await until('those to time out', counted, (now) => now.open <= 2)
  t.ok(openMax <= 16, `${openMax} connections at once`)
  t.equal(await stopDemo(worker), 0)
})

t.test('a port in use is reported, and the thread ends without an error', async (t) => {
  const taken = await listening(t, createTcpServer())
  const worker = new Worker(new URL('../../workers/demo.ts', import.meta.url), {
    workerData: {
      originPorts: [0, taken],
      frontendUrls: ['http://127.0.0.1:1/'],
      requestsPerSecond: 1,
    } satisfies DemoData,
  })
  const ended = once(worker, 'exit')
  const [report] = (await once(worker, 'message')) as [DemoReport]
  t.match(report, { type: 'failed', message: /EADDRINUSE/ })
  t.strictSame(await ended, [0])
})
