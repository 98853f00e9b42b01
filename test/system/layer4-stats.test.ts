import type { ChildProcess } from 'node:child_process'
import { Duplex } from 'node:stream'
import t from 'tap'
import { checkState } from '../../src/daemon/check.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { IpvsSimulator } from '../simulators/ipvs-simulator.ts'

const SERVICE = '192.0.2.50:80'
const SERVER = '192.0.2.61:80'
const ROW_S = 2
const STARTS_MAX = 5
const SILENCE_MS = 5_000

interface History {
  readonly start: number
  readonly series: { readonly sessionRate: readonly (number | null)[] }
}

const counted = ({ series }: History) => series.sessionRate.reduce<number>((sum, rate) => sum + (rate ?? 0) * ROW_S, 0)

/** Answers for the kernel at the other end of the daemon's descriptor; two of its seconds pass with each reading. */
function serve(kernel: IpvsSimulator, child: ChildProcess): void {
  const socket = child.stdio[3]
  if (!(socket instanceof Duplex)) throw new Error('there is no descriptor')
  const channel = kernel.channel()
  const LISTS_SERVICES = 4
  socket.on('data', (request: Buffer) => {
    if (request[16] === LISTS_SERVICES) kernel.pass()
    channel.write(new Uint8Array(request))
    socket.write(Buffer.concat(channel.pending.splice(0)))
  })
  socket.on('error', () => undefined)
}

t.test('a daemon reads the table over its descriptor, and so does its successor', { timeout: 1_800_000 }, async (t) => {
  const kernel = new IpvsSimulator()
  const state = temporaryFolder(t, 'layer4')
  const started = (child: ChildProcess) => serve(kernel, child)
  const daemon = new Daemon(state, ['--no-demo'], [], { env: { FULCRUM_GENETLINK: 'fd:3' }, started })
  t.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  const { id: rip } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '192.0.2.61', port: 80 })
  const reals = [{ ripId: rip }]
  const body = { name: 'be', reals, healthCheck: { type: 'tcp' } }
  const { id: backendId } = await daemon.data('POST', '/ipvsDirector/backends', body)
  const made = { name: 'fe', ip: '192.0.2.50', ports: '80', protocol: 'tcp', forwarding: 'masq', backendId }
  const { id } = await daemon.data('POST', '/ipvsDirector/frontends', made)
  kernel.ipvsadm('-A', '-t', SERVICE, '-s', 'wlc')
  kernel.ipvsadm('-a', '-t', SERVICE, '-r', SERVER, '-m', '-w', '100')
  await daemon.data('PUT', '/services/apply')
  const frontend = async () => (await daemon.call('GET', `/ipvsDirector/stats/frontends/${id}`)).json
  const health = async () => (await daemon.data('GET', `/ipvsDirector/rips/${rip}`)).health
  await until('figures', frontend, ({ data }) => data.connections === 0)
  t.equal((await frontend()).message, 'Layer 4 statistics')
  await until('health', health, (found) => found === 'up')

  const connect = (times: number) => {
    const [service] = kernel.table.services
    for (let i = 0; i < times; i++) if (service !== undefined) kernel.open(service, '203.0.113.1')
  }
  const began_s = Math.floor(Date.now() / 1_000) - 10
  const history = async (): Promise<History> => {
    const end_s = Math.floor(Date.now() / 1_000) + 4
    return daemon.data('GET', `/ipvsDirector/stats/frontends/${id}/history?start=${began_s}&end=${end_s}`)
  }
  // An earlier reading is stored, so that they are an increment.
  await until('a reading that is kept', history, ({ series }) => series.sessionRate.some((rate) => rate !== null))
  connect(5)
  await until('connections', frontend, ({ data }) => data.connections === 5)
  const asked_ms = performance.now()
  let [opened, known, isCarriedOn] = [5, 5, false]
  // Counts from a silence of more than five seconds are in no second, and a slow machine may take as long to start.
  for (let starts = 0; starts < STARTS_MAX && !isCarriedOn; starts += 1) {
    await daemon.kill('SIGKILL')
    connect(3)
    opened += 3
    await daemon.start()
    await daemon.login()
    await until('connections of meanwhile', frontend, ({ data }) => data.connections === opened)
    const seen_s = Math.ceil(Date.now() / 1_000)
    const isBehind = ({ start, series: { sessionRate } }: History) =>
      sessionRate.some((rate, row) => rate !== null && start + row * ROW_S >= seen_s)
    const count = counted(await until('the seconds behind them', history, isBehind))
    isCarriedOn = count === known + 3
    if (!isCarriedOn) t.equal(count, known, 'all of them, or none')
    known = count
  }
  t.ok(isCarriedOn || performance.now() - asked_ms > STARTS_MAX * SILENCE_MS, 'each connection once')
  kernel.ipvsadm('-d', '-t', SERVICE, '-r', SERVER)
  await until('health', health, (found) => found === 'checking' || found === 'down')
  await daemon.kill('SIGTERM')
  t.strictSame(await checkState(state), [])
})
