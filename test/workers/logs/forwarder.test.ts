import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { Forwarder, type ServerState } from '../../../workers/logs/forwarder.ts'
import { until, untilHolds } from '../../fixtures/until.ts'

/** A server that keeps the data that it receives. */
async function listening(test: Test, port = 0) {
  const sockets = new Set<Socket>()
  let text = ''
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('data', (bytes) => (text += bytes.toString('latin1')))
    socket.on('error', () => undefined)
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  test.teardown(close)
  // Sound: it listens on a port.
  const address = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, tls: undefined }
  const received = async (wanted: string) => {
    await until(wanted, () => text.length >= wanted.length)
    test.equal(text, wanted)
  }
  return { address, received, close, sockets }
}

function forwarder(test: Test, unforwarded = 0, bytesMax?: number) {
  const states: ServerState[] = []
  const forward = new Forwarder((state) => states.push(state), { unforwarded, uncertain: 0 }, bytesMax)
  let stopped: Promise<void> | undefined
  const stop = () => (stopped ??= forward.stop())
  test.teardown(stop)
  return { forward, states, stop }
}

t.test('lines added before the server is reachable are sent in order', async (test) => {
  const { address, received } = await listening(test)
  const { forward, states } = forwarder(test, 7)
  forward.add(['a', 'b'])
  test.equal(forward.waiting, 2)
  forward.direct(address)
  forward.add(['c'])
  await received('abc')
  forward.add(['d'])
  await received('abcd')
  test.strictSame([forward.waiting, forward.losses, states], [0, { unforwarded: 7, uncertain: 0 }, []])
})

t.test('lines beyond the limit are counted, and waiting ones are sent when the server is reachable', async (test) => {
  const first = await listening(test)
  first.close()
  const { forward, states } = forwarder(test, 0, 10)
  forward.direct(first.address)
  forward.add(['0123', '4567', '89ab', 'cd'])
  test.strictSame([forward.waiting, forward.losses.unforwarded], [3, 1])
  await untilHolds(() => states.length > 0)
  test.match(states, [{ isReached: false, reason: /ECONNREFUSED/ }])
  const { received } = await listening(test, first.address.port)
  await received('01234567cd')
  await untilHolds(() => states.length > 1)
  test.match(states[1], { isReached: true })
  test.strictSame(forward.losses, { unforwarded: 1, uncertain: 0 })
})

t.test('lines sent right before the end are uncertain, and not sent again', async (test) => {
  const { address, received, sockets } = await listening(test)
  const { forward, states } = forwarder(test)
  forward.direct(address)
  forward.add(['a', 'b', 'c'])
  await received('abc')
  for (const socket of sockets) socket.destroy()
  await untilHolds(() => forward.losses.uncertain > 0)
  test.strictSame([forward.waiting, forward.losses], [0, { unforwarded: 0, uncertain: 3 }])
  forward.add(['d'])
  await received('abcd')
  test.strictSame(states, [], 'it was back at once')
})

t.test('another server gets the waiting lines; without one they are lost', async (test) => {
  const { address, received } = await listening(test)
  const other = await listening(test)
  const { forward } = forwarder(test)
  forward.direct(address)
  forward.add(['a'])
  await received('a')
  forward.direct({ ...address })
  forward.direct(other.address)
  forward.add(['b'])
  await other.received('b')
  await received('a')
  forward.add(['c'])
  forward.direct(undefined)
  test.ok(forward.losses.unforwarded + forward.losses.uncertain <= 1)
  test.equal(forward.waiting, 0)
})

t.test('it ends when the waiting lines are sent, or cannot be', async (test) => {
  const { address, received } = await listening(test)
  const { forward, stop } = forwarder(test)
  forward.direct(address)
  forward.add(['a'])
  await received('a')
  forward.add(Array.from({ length: 1_000 }, () => 'b'.repeat(1_000)))
  await stop()
  await received(`a${'b'.repeat(1_000_000)}`)
  const down = forwarder(test)
  down.forward.add(['x'])
  await down.stop()
  test.equal(down.forward.waiting, 1)
})
