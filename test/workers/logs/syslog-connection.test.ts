import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer as createTls } from 'node:tls'
import t, { type Test } from 'tap'
import { SyslogConnection, type SyslogAddress, type Chunk } from '../../../workers/logs/syslog-connection.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

/** The result of a connection: whether it was ready, and how it ended. */
function connection(address: SyslogAddress, chunks: Chunk[] = []) {
  let isReady = false
  let opened: SyslogConnection | undefined
  const ended = new Promise<readonly [reason: string, uncertain: number, isReady: boolean]>((resolve) => {
    opened = new SyslogConnection(address, {
      next: () => chunks.shift(),
      ready: () => (isReady = true),
      ended: (reason, uncertain) => resolve([reason, uncertain, isReady]),
    })
  })
  return { ended, close: () => opened?.close() }
}

const portOf = async (server: ReturnType<typeof createServer>, test: Test): Promise<number> => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  test.teardown(() => server.close())
  // Sound: it listens on a port.
  return (server.address() as AddressInfo).port
}

t.test('a server that accepts the connection and ends it at once gets nothing', async (test) => {
  const port = await portOf(
    createServer((socket) => socket.destroy()),
    test,
  )
  const chunks = [{ text: 'a', messages: 1 }]
  const { ended } = connection({ host: '127.0.0.1', port, tls: undefined }, chunks)
  test.match(await ended, [/closed the connection|ECONNRESET/, 0, false])
  test.equal(chunks.length, 1)
})

t.test('unreadable certificates end it as well', async (test) => {
  const own = { cert: 'nothing', key: 'nothing' }
  const { ended, close } = connection({ host: '127.0.0.1', port: 1, tls: { ca: undefined, own } })
  test.match(await ended, [/./, 0, false])
  await close()
})

t.test('TLS before 1.2 is refused', async (test) => {
  const { cert, key } = certificateMaker(test).pair({ name: 'localhost', isCa: true })
  const server = createTls({ cert, key, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' })
  const port = await portOf(server, test)
  const { ended } = connection({ host: 'localhost', port, tls: { ca: cert, own: undefined } })
  test.match(await ended, [/protocol|version/, 0, false])
})

t.test('data handed over before the close arrive, and later ones are not accepted', async (test) => {
  let text = ''
  const server = createServer((socket) => socket.on('data', (bytes) => (text += bytes.toString())))
  const port = await portOf(server, test)
  const chunks = [
    { text: 'a', messages: 1 },
    { text: 'b', messages: 2 },
  ]
  const closed = once(server, 'connection').then(async ([socket]) => await once(socket, 'end'))
  const { ended, close } = connection({ host: '127.0.0.1', port, tls: undefined }, chunks)
  await new Promise<void>((resolve) => {
    const look = () => (text === 'ab' ? resolve() : setImmediate(look))
    look()
  })
  await close()
  test.strictSame(await ended, ['', 0, true])
  await closed
})

t.test('when the server has stopped reading, everything that fits into buffers is uncertain', async (test) => {
  let stopped: Socket | undefined
  const server = createServer({ pauseOnConnect: true }, (socket) => (stopped = socket))
  const port = await portOf(server, test)
  const text = 'x'.repeat(1_048_576)
  const chunks = Array.from({ length: 64 }, () => ({ text, messages: 10 }))
  const { ended } = connection({ host: '127.0.0.1', port, tls: undefined }, chunks)
  let [left, same] = [65, 0]
  while (same < 100) {
    await sleep(20)
    same = stopped !== undefined && chunks.length < 64 && chunks.length === left ? same + 1 : 0
    left = chunks.length
  }
  stopped?.resetAndDestroy()
  const [reason, uncertain, isReady] = await ended
  test.match([reason, isReady], [/ECONNRESET|EPIPE/, true])
  test.equal(uncertain, 10 * Math.min(64 - left, 17), 'none of it was read, not two seconds ago either')
})
