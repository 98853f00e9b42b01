import { connect } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { App } from 'uWebSockets.js'
import t from 'tap'
import { connectionBounds, Connections } from '../../../src/http/connections.ts'
import { freePlace, openSocket, stopListening } from '../../../src/http/listening.ts'
import { untilHolds } from '../../fixtures/until.ts'

/** As where the kernel cannot be asked: counts stay. */
const UNKNOWN = () => Promise.reject(new Error('no'))

t.test('the bounds leave descriptors for the daemon itself', async (test) => {
  test.same(connectionBounds(65_536), { all_max: 16_384, each_max: 4_096 })
  test.same(connectionBounds(4_096), { all_max: 3_584, each_max: 896 })
  test.same(connectionBounds(256), { all_max: 128, each_max: 32 })
  test.same(connectionBounds(65_536, 4), { all_max: 4_096, each_max: 1_024 }, 'each of four threads in front')
  test.same(connectionBounds(4_096, 2), { all_max: 597, each_max: 149 }, 'which need three for each request')
  test.same(connectionBounds(Number.POSITIVE_INFINITY), { all_max: 16_384, each_max: 4_096 })
})

t.test('one address has its share, all have theirs, and closed connections make room', async (test) => {
  const connections = new Connections({ all_max: 6, each_max: 4 }, UNKNOWN)
  const asked = ['a', 'a', 'a', 'a', 'a', 'b'].map((place) => connections.opened(place))
  test.same(asked, [true, true, true, true, false, true])
  connections.closed()
  test.equal(connections.opened('b'), true)
  test.equal(connections.opened('c'), false, 'six are open')
  test.equal(connections.refused, 2)
  for (let open = connections.open; open > 0; open--) connections.closed()
  test.equal(connections.opened('a'), true, 'without connections all counts are cleared')
})

t.test('an address that opens and closes thousands is never refused while few are open', async (test) => {
  let asked = 0
  const connections = new Connections({ all_max: 100, each_max: 8 }, () => Promise.reject(new Error(`${++asked}`)))
  connections.opened('other')
  for (let n = 0; n < 5_000; n++) {
    if (!connections.opened('a')) test.fail(`refused after ${n}`)
    connections.closed()
  }
  test.same([connections.refused, connections.open, asked], [0, 1, 0])
})

t.test('before an address is refused for earlier connections, the kernel is asked', async (test) => {
  let tell: (counts: ReadonlyMap<string, number>) => void = () => undefined
  let asked = 0
  const look = () => {
    asked += 1
    return new Promise<ReadonlyMap<string, number>>((resolve) => (tell = resolve))
  }
  const connections = new Connections({ all_max: 100, each_max: 8 }, look)
  connections.opened('other')
  for (let n = 0; n < 7; n++) connections.opened('a')
  for (let n = 0; n < 7; n++) connections.closed()
  test.equal(asked, 1, 'after the interval, and once')
  connections.opened('a')
  tell(new Map([['other', 1]]))
  await turn()
  const more = Array.from({ length: 9 }, () => connections.opened('a'))
  test.equal(more.filter(Boolean).length, 7, 'one was opened while the kernel was asked')
})

t.test('one connection too many is closed before anything of it is read', async (test) => {
  const connections = new Connections({ all_max: 4, each_max: 2 }, UNKNOWN)
  const place = await freePlace({ host: '127.0.0.1', port: 0 })
  const app = App()
  let served = 0
  connections.watch(app, place.port)
  app.any('/*', (response) => {
    served += 1
    response.end('x')
  })
  const socket = await openSocket(app, place)
  test.teardown(() => {
    stopListening(socket)
    app.close()
  })
  const open = async (host: number) => {
    const client = connect({ ...place, localAddress: `127.0.0.${host}` })
    client.on('error', () => undefined)
    client.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n')
    const answered = new Promise((resolve) => client.once('data', () => resolve('answered')))
    return [
      client,
      await Promise.race([answered, new Promise((resolve) => client.once('close', () => resolve('closed')))]),
    ] as const
  }
  const outcomes = []
  const clients = []
  for (const host of [1, 1, 1, 2, 2, 3]) {
    const [client, outcome] = await open(host)
    clients.push(client)
    outcomes.push(outcome)
  }
  test.same(outcomes, ['answered', 'answered', 'closed', 'answered', 'answered', 'closed'])
  test.equal(served, 4)
  test.equal(connections.open, 4)
  for (const client of clients) client.destroy()
  await untilHolds(() => connections.open === 0)
  const [again, outcome] = await open(1)
  test.equal(outcome, 'answered')
  again.destroy()
})

t.test("the kernel's answer about all threads is shared by them", async (test) => {
  const look = () => Promise.resolve(new Map([['a', 8]]))
  const connections = new Connections({ all_max: 100, each_max: 4 }, look, 4)
  for (let count = 0; count < 4; count++) connections.opened('a')
  await turn()
  await turn()
  test.same([connections.opened('a'), connections.opened('a'), connections.opened('a')], [true, true, false])
})
