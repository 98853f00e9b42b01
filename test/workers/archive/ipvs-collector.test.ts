import t, { type Test } from 'tap'
import { ipvsPlan } from '../../../src/ipvs/names.ts'
import { IpvsReader } from '../../../src/ipvs/reader.ts'
import { checkArchive } from '../../../storage/archive/check.ts'
import { TWO_SECOND_TIERS } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { IpvsCollector } from '../../../workers/archive/ipvs-collector.ts'
import { IpvsPlaces } from '../../../workers/archive/ipvs-places.ts'
import { ipvsRows } from '../../../workers/archive/ipvs-rows.ts'
import { l4Backend, l4Frontend } from '../../fixtures/config.ts'
import { IpvsSimulator } from '../../simulators/ipvs-simulator.ts'
import { real } from '../../labs/layer4-lab.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { viewOf } from '../../fixtures/view.ts'

const START = 895_000_000
const view = viewOf({
  realServers: [real('r1'), real('r2')],
  l4Backends: [l4Backend('b', ['r1', 'r2'])],
  l4Frontends: [l4Frontend('f', 'b')],
})

/** A collector over a simulated kernel, polled at any second of the archive. */
function collecting(t: Test) {
  const kernel = new IpvsSimulator()
  const writer = new ArchiveWriter(temporaryFolder(t), START, TWO_SECOND_TIERS)
  const places = new IpvsPlaces()
  places.take(ipvsPlan(view, 1))
  const reader = new IpvsReader(kernel.channel())
  const collector = new IpvsCollector(writer, places)
  const poll = (second: number) => {
    kernel.pass()
    const time = { archive_s: START + second, monotonic_s: second }
    if (reader.read() !== undefined) return collector.miss(START + second, time)
    places.follow(reader.table)
    collector.absorb(reader.table, ipvsRows(reader.table, places), time)
    collector.close(START + second, time)
  }
  /** The sessions of an object in each second of [from, to). */
  const sessions = (kind: string, from: number, to: number) => {
    const slot = writer.objects().find((object) => object.kind === kind)?.slot ?? -1
    return Array.from({ length: to - from }, (_, i) => writer.ring.get(slot, START + from + i, 1))
  }
  return { kernel, writer, poll, sessions }
}

function fill(kernel: IpvsSimulator): void {
  kernel.ipvsadm('-A', '-t', '192.0.2.10:80', '-s', 'wrr')
  for (const server of ['10.0.0.1', '10.0.0.2']) kernel.ipvsadm('-a', '-t', '192.0.2.10:80', '-r', server, '-m')
}
function connect(kernel: IpvsSimulator, times: number): void {
  for (let i = 0; i < times; i++) for (const service of kernel.table.services) kernel.open(service, '203.0.113.1')
}

t.test('counts are spread over seconds without a reading, which are unknown after the heartbeat', async (t) => {
  const { kernel, writer, poll, sessions } = collecting(t)
  fill(kernel)
  poll(1)
  connect(kernel, 9)
  kernel.refuses = 1
  poll(2)
  poll(3)
  kernel.refuses = undefined
  poll(4)
  t.strictSame(sessions('frontend', 1, 4), [3, 3, 3], 'the sum is the count')
  connect(kernel, 100)
  poll(20)
  t.ok(sessions('frontend', 4, 20).every(Number.isNaN))
  t.strictSame(checkArchive(writer.databases), [])
  await writer.close()
})

t.test('a service that appears has counted from zero; cleared counters are unknown once', async (t) => {
  const { kernel, writer, poll, sessions } = collecting(t)
  poll(1)
  fill(kernel)
  connect(kernel, 4)
  poll(2)
  kernel.ipvsadm('-Z')
  connect(kernel, 1)
  poll(3)
  connect(kernel, 2)
  poll(4)
  t.strictSame(sessions('frontend', 1, 4), [4, Number.NaN, 2])
  t.strictSame(sessions('backend', 1, 4), [4, Number.NaN, 2])
  await writer.close()
})

t.test('servers come and go, and every count is stored', async (t) => {
  const { kernel, writer, poll, sessions } = collecting(t)
  fill(kernel)
  poll(1)
  let seed = 7
  const random = (n: number) => (seed = (seed * 48_271) % 2_147_483_647) % n
  let counted = 0
  const ROUNDS = 250
  for (let second = 2; second < 2 + ROUNDS; second++) {
    const n = random(20)
    for (let i = 0; i < n; i++) {
      const [service] = kernel.table.services
      if (service !== undefined && kernel.open(service, '203.0.113.1') !== undefined) counted++
    }
    poll(second)
    const server = `10.0.0.${1 + random(2)}`
    if (random(4) === 0) kernel.ipvsadm('-d', '-t', '192.0.2.10:80', '-r', server)
    else kernel.ipvsadm('-a', '-t', '192.0.2.10:80', '-r', server, '-m')
  }
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + (Number.isNaN(value) ? 0 : value), 0)
  t.equal(sum(sessions('frontend', 1, 1 + ROUNDS)), counted)
  t.equal(sum(sessions('backend', 1, 1 + ROUNDS)), counted, 'the same through its real servers')
  t.strictSame(checkArchive(writer.databases), [])
  await writer.close()
})
