import t from 'tap'
import { checkArchiveDirectory } from '../../../storage/archive/check.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { l4Frontend } from '../../fixtures/config.ts'
import { checked, Layer4Lab, layer4Lab, real } from '../../labs/layer4-lab.ts'

const RECORDS = {
  realServers: [real('r1'), real('r2'), real('r9')],
  l4Backends: [checked('b', ['r1', 'r2'])],
  l4Frontends: [l4Frontend('f', 'b')],
}
const TRAFFIC = { packetsIn: 10, bytesIn: 1_000, packetsOut: 20, bytesOut: 5_000 }

function connect(lab: Layer4Lab, times: number): void {
  const [service] = lab.kernel.table.services
  for (let i = 0; i < times; i++) if (service !== undefined) lab.kernel.open(service, '203.0.113.1', TRAFFIC)
}

t.test('live figures of frontends, backends and real servers', async (t) => {
  const lab = await layer4Lab(t, temporaryFolder(t), RECORDS)
  await lab.tick()
  await lab.tick(1, () => connect(lab, 4))
  const { message, data } = lab.live({ kind: 'all' })
  t.equal(message, 'Layer 4 statistics')
  t.strictSame(Object.keys(data), ['frontends', 'backends', 'reals'])
  const totals = { connections: 4, packetsIn: 40, packetsOut: 80, bytesIn: 4_000, bytesOut: 20_000 }
  const [frontend] = data.frontends
  t.match(frontend, { id: 'f', name: 'f', ip: '192.0.2.10', ports: '80', protocol: 'tcp', ...totals })
  t.match(frontend, { forwarding: 'masq', scheduler: 'wrr', connectionsPerSecond: Number, bytesOutPerSecond: Number })
  t.match(data.backends, [{ id: 'b', ...totals, realsTotal: 2, realsUp: 2, realsDrained: 0, realsHalted: 0 }])
  t.match(data.reals, [
    { id: 'r1', backendId: 'b', backendName: 'b', connections: 2, weight: 100, state: 'online', health: 'up' },
    { id: 'r2', activeConnections: 2, inactiveConnections: 0, persistentConnections: 0, bytesOut: 10_000 },
  ])
  t.match(lab.live({ kind: 'frontend', id: 'f' }).data, { id: 'f' })
  t.match(lab.live({ kind: 'backend', id: 'b' }).data, { id: 'b' })
  t.equal(lab.live({ kind: 'backend-rips', id: 'b' }).data.length, 2)
  t.match(lab.live({ kind: 'rip', id: 'r2' }).data, [{ id: 'r2', backendId: 'b' }])
  t.strictSame(lab.live({ kind: 'rip', id: 'r9' }).data, [], 'in no backend')
  t.equal(lab.live({ kind: 'rip', id: 'nonesuch' }), null)
})

t.test('an answer is rendered once, and keeps its tag while nothing happens', async (t) => {
  const lab = await layer4Lab(t, temporaryFolder(t), RECORDS)
  await lab.tick(2)
  const first = lab.stats.live.render({ kind: 'all' })
  t.equal(lab.stats.live.render({ kind: 'all' }), first)
  await lab.tick()
  t.equal(lab.stats.live.render({ kind: 'all' }), first, 'a quiet tick')
  await lab.tick(1, () => connect(lab, 1))
  t.not(lab.stats.live.render({ kind: 'all' })?.etag, first?.etag)
})

t.test('without IPVS, and before it answers, figures are null and the message says why', async (t) => {
  const lab = await layer4Lab(t, temporaryFolder(t), RECORDS)
  lab.kernel.isLoaded = false
  await lab.tick()
  const { message, data } = lab.live({ kind: 'all' })
  t.match(message, /has not been read since 2026-03-04T05:06:\d\d.*: this kernel has no IPVS/)
  t.match(data.frontends, [{ connections: null, bytesInPerSecond: null, ip: '192.0.2.10' }])
  t.match(data.reals, [{ weight: null, state: 'online', health: 'unknown' }, {}])
  t.match(data.backends, [{ realsTotal: 2, realsUp: null }])
  t.equal(lab.stats.live.health('r1'), 'unknown')
  lab.kernel.isLoaded = true
  await lab.tick()
  t.equal(lab.live({ kind: 'frontends' }).message, 'Layer 4 statistics')
  t.equal(lab.stats.live.health('r1'), 'up')
})

t.test('reasons for an unknown state: a table that cannot be read, or a missing keepalived', async (t) => {
  const lab = await layer4Lab(t, temporaryFolder(t), RECORDS)
  await lab.tick()
  t.equal(lab.stats.fault(), undefined)
  lab.isChecked = false
  await lab.tick()
  t.equal(lab.stats.fault(), undefined, 'it may be restarting')
  await lab.tick()
  t.match(lab.stats.fault(), 'keepalived does not run')
  lab.kernel.isLoaded = false
  await lab.tick()
  t.match(lab.stats.fault(), /cannot be read: this kernel has no IPVS/)
  lab.configure({})
  lab.enact()
  await lab.tick()
  t.equal(lab.stats.fault(), undefined, 'nothing is balanced')
})

t.test('without Layer 4 the kernel is not even asked', async (t) => {
  const lab = await layer4Lab(t, temporaryFolder(t), {})
  await lab.tick(3)
  t.strictSame(
    lab.messages.map(({ type }) => type),
    ['ready'],
  )
  t.strictSame(lab.live({ kind: 'all' }).data, { frontends: [], backends: [], reals: [] })
  lab.configure(RECORDS)
  lab.enact()
  await lab.tick(2)
  t.match(lab.live({ kind: 'frontends' }).data, [{ connections: 0 }], 'an apply brings it')
})

t.test(
  'where replies bypass the node, outgoing figures are null: of the frontend, its backend and its real servers',
  async (t) => {
    const lab = await layer4Lab(t, temporaryFolder(t), {
      realServers: [real('r1')],
      l4Backends: [checked('b', ['r1']), checked('c', ['r1'])],
      l4Frontends: [
        l4Frontend('f', 'b', { forwarding: 'gate' }),
        l4Frontend('g', 'b', { ports: '81' }),
        l4Frontend('h', 'c', { ports: '82' }),
      ],
    })
    await lab.tick(2)
    const { frontends, backends, reals } = lab.live({ kind: 'all' }).data
    t.match(frontends, [{ bytesOut: null, packetsOut: null, bytesIn: 0 }, { bytesOut: 0 }, { bytesOut: 0 }])
    const unseen = { packetsOut: null, bytesOut: null, packetsOutPerSecond: null, bytesOutPerSecond: null, bytesIn: 0 }
    t.match(backends, [unseen, { bytesOut: 0 }], 'half of a sum would look like a whole one')
    t.match(reals, [unseen, { bytesOut: 0 }])
    t.match(lab.history('frontend', 'f', 2).data.series, { bytesOut: [null], bytesIn: [0] })
    t.match(lab.history('frontend', 'g', 2).data.series, { bytesOut: [0] })
    t.match(lab.history('backend', 'b', 2).data.series, { bytesOut: [null], sessionRate: [0] })
  },
)

t.test('history: two seconds at a time, per second, in all four forms', async (t) => {
  const directory = temporaryFolder(t)
  const lab = new Layer4Lab(directory, RECORDS)
  lab.enact()
  await lab.start()
  await lab.tick(3)
  await lab.tick(1, () => connect(lab, 3))
  await lab.tick()
  const { message, data } = lab.history('frontend', 'f', 8)
  t.equal(message, 'Layer 4 history')
  t.match(data, { id: 'f', name: 'f', applianceId: 'node-1', resolution: 2, consolidation: 'average' })
  t.equal(data.end - data.start, 8)
  t.strictSame(data.series.sessionRate, [0, 0, 1.5, 0])
  t.strictSame(data.series.bytesIn, [0, 0, 1_500, 0])
  t.strictSame(data.series.currentSessions, [0, 0, 3, 3])
  t.match(lab.history('backend', 'b', 8).data.series, { bytesOut: [0, 0, 7_500, 0] })
  const reals = lab.history('backendReals', 'b', 8).data.reals
  t.match(reals, [
    { id: 'r1', series: { sessionRate: [0, 0, 1, 0] } },
    { id: 'r2', series: { sessionRate: [0, 0, 0.5, 0] } },
  ])
  t.match(lab.history('rip', 'r1', 8).data, [{ backendId: 'b', backendName: 'b', id: 'r1' }])
  t.strictSame(lab.history('rip', 'r9', 8).data, [])
  t.equal(lab.history('rip', 'nonesuch', 8), null)
  await lab.tick(12)
  const coarse = lab.history('frontend', 'f', 40, { resolution: 10, consolidation: 'maximum' }).data
  t.equal(coarse.resolution, 10)
  t.equal(Math.max(...coarse.series.sessionRate), 1.5, 'the fastest two seconds')
  await lab.stop()
  t.strictSame(await checkArchiveDirectory(directory), [])
})

t.test('a service that is created again is unknown for a moment, never a leap and never a false zero', async (t) => {
  const lab = await layer4Lab(t, temporaryFolder(t), RECORDS)
  await lab.tick(2, () => connect(lab, 10))
  await lab.tick(1, () => {
    lab.kernel.ipvsadm('-C')
    lab.enact()
    connect(lab, 2)
  })
  await lab.tick(1, () => connect(lab, 4))
  t.strictSame(lab.history('frontend', 'f', 6).data.series.sessionRate, [5, null, 2])
})

t.test('a removed real server has no figures; back with its counters, nothing is counted twice', async (t) => {
  const lab = await layer4Lab(t, temporaryFolder(t), RECORDS)
  await lab.tick(2, () => connect(lab, 4))
  await lab.tick(1, () => void lab.kernel.ipvsadm('-d', '-t', '192.0.2.10:80', '-r', '10.0.0.1:80'))
  t.match(lab.live({ kind: 'rip', id: 'r1' }).data, [{ connections: null, weight: null, health: 'down' }])
  await lab.tick(1, () => void lab.kernel.ipvsadm('-a', '-t', '192.0.2.10:80', '-r', '10.0.0.1:80', '-m', '-w', '100'))
  await lab.tick(1, () => connect(lab, 4))
  const [entry] = lab.history('rip', 'r1', 8).data
  t.strictSame(entry.series.sessionRate, [1, null, 0, 1])
  t.strictSame(lab.history('frontend', 'f', 8).data.series.sessionRate, [2, 0, 0, 2])
  t.strictSame(lab.history('backend', 'b', 8).data.series.sessionRate, [2, 0, 0, 2])
})

t.test('a restart of the daemon loses nothing and invents nothing', async (t) => {
  const directory = temporaryFolder(t)
  const lab = await layer4Lab(t, directory, RECORDS)
  await lab.tick(3, () => connect(lab, 2))
  connect(lab, 6)
  lab.kernel.pass()
  await lab.restart(1_000)
  await lab.tick(2)
  const { sessionRate } = lab.history('frontend', 'f', 12).data.series
  const known = sessionRate.filter((rate: number | null) => rate !== null)
  t.equal(
    known.reduce((sum: number, rate: number) => sum + rate * 2, 0),
    6 + 6,
  )
  connect(lab, 100)
  lab.kernel.pass()
  await lab.restart(60_000)
  await lab.tick(2)
  const after = lab.history('frontend', 'f', 60).data.series.sessionRate
  t.notOk(
    after.some((rate: number | null) => rate !== null && rate > 6),
    'a long absence is unknown, without a leap',
  )
})
