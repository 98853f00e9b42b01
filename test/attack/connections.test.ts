import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { connect as secure } from 'node:tls'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const DESCRIPTORS = 512
/** Half of so small a limit, and a quarter of that for one address. */
const [ALL, EACH] = [256, 64]
/** One address connects so often, with a quarter of its limit. */
const [ROUNDS, ROUND] = [13, EACH / 4]
t.setTimeout(0)

async function fixture(test: Test, descriptors = DESCRIPTORS): Promise<Daemon> {
  const daemon = new Daemon(temporaryFolder(test, 'daemon'), ['--no-demo'], [], { descriptors })
  test.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  return daemon
}

const openFiles = ({ pid }: Daemon) => readdirSync(`/proc/${pid}/fd`).length

/** Silent connections; counts how many the daemon kept. */
class Crowd {
  readonly #sockets = new Set<Socket>()

  constructor(test: Test) {
    test.teardown(() => this.end())
  }

  get open(): number {
    return this.#sockets.size
  }

  async add(count: number, port: number, localAddress: string): Promise<void> {
    const connected = Array.from({ length: count }, () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => this.#sockets.delete(socket))
      return new Promise((resolve) => {
        socket.on('connect', resolve)
        socket.on('close', resolve)
      })
    })
    await Promise.all(connected)
  }

  /** Returns how many of them the daemon keeps, as a TLS handshake shows: a refused one is connected at first. */
  async kept(): Promise<number> {
    const all = [...this.#sockets].map((socket) => {
      const secured = secure({ socket, rejectUnauthorized: false }).on('error', () => undefined)
      return new Promise<number>((resolve) => {
        secured.on('secureConnect', () => resolve(1))
        secured.on('close', () => resolve(0))
      })
    })
    return (await Promise.all(all)).reduce((sum, one) => sum + one, 0)
  }

  end(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

t.test(
  'connections: one address has its share, all have theirs, and the daemon keeps descriptors for itself',
  async (test) => {
    const daemon = await fixture(test)
    const crowd = new Crowd(test)
    const settled = (most: number) =>
      until(
        'the surplus to be closed',
        async () => crowd.open,
        (open) => open <= most,
      )
    await crowd.add(200, daemon.port, '127.0.0.2')
    test.equal(await settled(EACH), EACH)
    test.equal((await daemon.call('GET', '/services')).status, 200, 'others are accepted')
    for (const host of [3, 4, 5, 6, 7, 8]) await crowd.add(100, daemon.port, `127.0.0.${host}`)
    test.ok((await settled(ALL)) > 3 * EACH)
    test.ok(openFiles(daemon) < DESCRIPTORS - 50, `${openFiles(daemon)} of ${DESCRIPTORS} are open`)
    // Files, stores, threads and programs all need descriptors; this client came before the others.
    const body = { name: 'web', ip: '192.0.2.1', port: 80 }
    test.equal((await daemon.call('POST', '/ipvsDirector/rips', { body })).status, 201)
    test.equal((await daemon.call('PUT', '/services/apply')).status, 200)
    test.equal((await daemon.call('POST', '/services/layer7proxy/reload')).status < 500, true)
    crowd.end()
    await until(
      'the places to be free',
      async () => openFiles(daemon),
      (open) => open < ALL - EACH,
    )
    await crowd.add(EACH, daemon.port, '127.0.0.9')
    test.equal(await crowd.kept(), EACH, 'closed connections make room')
    test.notMatch(daemon.stderr, /EMFILE|"level":"error"/)
  },
)

t.test('connections: an address that constantly reconnects is not refused for closed connections', async (test) => {
  const daemon = await fixture(test)
  let kept = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const crowd = new Crowd(test)
    await crowd.add(ROUND, daemon.port, '127.0.0.2')
    kept += await crowd.kept()
    crowd.end()
    // Without connections all counts are forgotten; this client stays.
    await daemon.call('GET', '/services')
    // The kernel is asked at most once a second: a more frequent client may be refused until then.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  }
  test.equal(kept, ROUNDS * ROUND)
})

t.test('connections: too few descriptors end the start with one clear line', async (test) => {
  const state = temporaryFolder(test, 'daemon')
  const daemon = new Daemon(state, ['--no-demo'], [], { descriptors: 200 })
  await test.rejects(daemon.start(), /ended with 1: fulcrum: only 200 files may be open, but at least 256 are needed/)
  test.same(readdirSync(state), [], 'nothing was begun')
})
