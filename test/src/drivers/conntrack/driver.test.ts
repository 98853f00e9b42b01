import t from 'tap'
import { conntrackDriver } from '../../../../src/drivers/conntrack/driver.ts'
import type { Step } from '../../../../src/drivers/driver.ts'
import { settingKey } from '../../../../src/drivers/host.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { goldenFiles } from '../golden-files.ts'

const driver = conntrackDriver('node')
const OPTIONS = { atLeast: 'runtime' } as const
const SIZE: Records = { conntrackLimits: [{ id: 'node', size: 100_000 }] }
const TIMEOUTS: Records = {
  conntrackTimeouts: [{ id: 'cluster', tcpTimeout: '15m', tcpFinTimeout: '2m', udpTimeout: '5m' }],
}
const SAME_TIMEOUTS: Records = {
  conntrackTimeouts: [{ id: 'cluster', tcpTimeout: '900', tcpFinTimeout: '120s', udpTimeout: '300' }],
}

const plan = (running: Records | undefined, desired: Records) =>
  driver.plan(running && viewOf(running), viewOf(desired), OPTIONS)
const settings = (steps: readonly Step[]) =>
  steps.flatMap((step) => (step.kind === 'setting' ? [[settingKey(step.setting), step.value]] : []))
const files = (steps: readonly Step[], kind: 'replaceFile' | 'removeFile') =>
  steps.flatMap((step) => (step.kind === kind ? [step.path] : []))

t.test('goldens', async (test) => goldenFiles(test, 'conntrack', driver, (records) => driver.render(viewOf(records))))

t.test('without a record the machine is left as it was found', async (test) => {
  test.same(plan(undefined, {}), [])
  test.same(plan({}, {}), [])
  test.same(plan(undefined, { conntrackLimits: [{ id: 'another-node', size: 4096 }] }), [], 'nor for another node')
})

t.test('size and timeouts are set in the kernel and kept for the next boot, after the module', async (test) => {
  const steps = plan(undefined, { ...SIZE, ...TIMEOUTS })
  test.same(settings(steps), [
    ['kernelModule nf_conntrack', 'loaded'],
    ['sysctl net.netfilter.nf_conntrack_max', '100000'],
    ['sysctl net.netfilter.nf_conntrack_tcp_timeout_established', '900'],
    ['sysctl net.netfilter.nf_conntrack_tcp_timeout_fin_wait', '120'],
    ['sysctl net.netfilter.nf_conntrack_udp_timeout', '300'],
    ['sysctl net.netfilter.nf_conntrack_udp_timeout_stream', '300'],
    ['kernelModule ip_vs', 'loaded'],
    ['ipvsTimeouts', '900 120 300'],
  ])
  test.same(files(steps, 'replaceFile'), [
    '/etc/modules-load.d/fulcrum.conf',
    '/etc/sysctl.d/60-fulcrum-conntrack.conf',
  ])
  const optional = steps.flatMap((step) =>
    step.kind === 'setting' && step.isOptional ? [settingKey(step.setting)] : [],
  )
  test.same(
    optional,
    ['kernelModule nf_conntrack', 'kernelModule ip_vs', 'ipvsTimeouts'],
    'a machine without IPVS is no failure',
  )
})

t.test('the same values in another notation need nothing', async (test) => {
  test.same(plan({ ...SIZE, ...TIMEOUTS }, { ...SIZE, ...SAME_TIMEOUTS }), [])
})

t.test('a removed setting gets its original value back', async (test) => {
  const back = plan({ ...SIZE, ...TIMEOUTS }, {})
  test.same(files(back, 'removeFile'), ['/etc/sysctl.d/60-fulcrum-conntrack.conf', '/etc/modules-load.d/fulcrum.conf'])
  test.same(new Set(settings(back).map(([, value]) => value)), new Set([undefined]))
  test.equal(settings(back).length, 6, 'the module stays')
  const half = settings(plan({ ...SIZE, ...TIMEOUTS }, SIZE))
  test.equal(half.filter(([, value]) => value === undefined).length, 5)
  test.same(half[1], ['sysctl net.netfilter.nf_conntrack_max', '100000'])
})

t.test('a change is quick, and concerns its own node only', async (test) => {
  const view = viewOf({})
  const [before, [record]] = [undefined, SIZE.conntrackLimits ?? []]
  const change = (id: string) => ({ section: 'conntrackLimits', id, before, after: record }) as const
  test.equal(driver.effectOf(change('node'), view, view), 'runtime')
  test.equal(driver.effectOf(change('another-node'), view, view), undefined)
  const shared = { section: 'conntrackTimeouts', id: 'cluster', before, after: undefined } as const
  test.equal(driver.effectOf(shared, view, view), 'runtime')
})

t.test('a stored timeout that is no duration is a problem before anything happens', async (test) => {
  const bad = [{ id: 'cluster', tcpTimeout: '1h30m', tcpFinTimeout: '120', udpTimeout: '5 m' }]
  test.match(driver.verify(viewOf({ conntrackTimeouts: bad })), [
    { section: 'conntrackTimeouts', id: 'cluster', field: 'tcpTimeout' },
    { field: 'udpTimeout' },
  ])
  test.same([...driver.prepare(viewOf({}))], [])
  test.same(driver.diagnose('anything', viewOf({})), [])
})
