import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { PlanOptions, Step } from '../../../../src/drivers/driver.ts'
import { vrrpDriver } from '../../../../src/drivers/vrrp/driver.ts'
import { CONFIG_FILE } from '../../../../src/drivers/vrrp/paths.ts'
import { executePlan } from '../../../../workers/executor.ts'
import { RecordingHost } from '../../../../workers/host/recording-host.ts'
import { withInterfaceNames } from '../../../../src/drivers/interface-names.ts'
import { frontend } from '../../../fixtures/config.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { keepalivedCheck, lacks } from '../../../fixtures/programs-apart.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { goldenFiles } from '../golden-files.ts'
import { pair, PAIR } from './vrrp-records.ts'

const driver = vrrpDriver('node', () => PAIR)
const plan = (running: Records | undefined, desired: Records, atLeast: PlanOptions['atLeast'] = 'runtime') =>
  driver.plan(running === undefined ? undefined : viewOf(running), viewOf(desired), { atLeast })
const units = (steps: readonly Step[]) =>
  steps.flatMap((step) => (step.kind === 'unit' ? [`${step.verb} ${step.whenUnchanged} ${step.isLast === true}`] : []))
const ALONE = pair({ nodes: ['node'] })

t.test('goldens', async (test) => {
  const three = vrrpDriver('node', () => [...PAIR, 'node-3'])
  goldenFiles(test, 'vrrp', three, (records) => three.render(viewOf(records)))
})

t.test('keepalived accepts the files of each golden', { skip: lacks('keepalived') }, async (test) => {
  const url = new URL('../../../golden/vrrp/', import.meta.url)
  const file = join(temporaryFolder(test, 'vrrp'), 'fulcrum-vrrp.conf')
  for (const name of ['pair', 'preferred']) {
    const records: Records = JSON.parse(readFileSync(new URL(`${name}.json`, url), 'utf8'))
    const rendered = driver.render(viewOf(records)).find(({ path }) => path === CONFIG_FILE)
    writeFileSync(file, withInterfaceNames(rendered?.content ?? '', new Map()))
    const { status, lines } = keepalivedCheck(file)
    test.equal(status, 0, `${name}: ${lines.join('; ')}`)
  }
  writeFileSync(file, 'vrrp_instance a {\n    virtual_router_id 999\n}\n')
  test.not(keepalivedCheck(file).status, 0, 'and refuses an invalid one')
})

t.test('a node without a cluster is left as found, and so is one whose floating IPs only it can have', async (test) => {
  for (const [one, records] of [
    [vrrpDriver('node', () => []), pair({})],
    [vrrpDriver('node', () => ['node']), pair({})],
    [driver, ALONE],
  ] as const) {
    test.same(one.render(viewOf(records)), [])
    test.same(one.plan(viewOf({}), viewOf(records), { atLeast: 'restart' }), [])
  }
})

t.test('changes are reloaded after everything else, a running keepalived is adopted', async (test) => {
  test.same(units(plan(ALONE, pair({}))), ['reload act true'])
  test.same(units(plan(undefined, pair({}))), ['reload skip true'])
  test.same(plan(pair({}), pair({})), [])
  test.same(units(plan(pair({}), pair({}), 'restart')), ['reload act true'], 'no apply moves an address by a restart')
})

t.test('an address that stays on this node alone is released before it is added there', async (test) => {
  const two = pair({ floating: ['10.0.0.100', '10.0.0.101'] })
  test.same(units(plan(two, pair({}))), ['reload act false'])
  test.same(units(plan(pair({}), ALONE)), ['stop skip false'])
})

t.test('on an unknown machine without movable addresses only existing files are removed', async (test) => {
  const host = new RecordingHost()
  test.match(await executePlan(host, plan(undefined, ALONE)), { ok: true })
  test.same(host.journal, [])
  await executePlan(host, plan(undefined, pair({})))
  host.takeJournal()
  await executePlan(host, plan(undefined, ALONE))
  const removed = host.journal.flatMap((entry) => (entry.verb === 'removeFile' ? [entry.path] : []))
  test.same(
    removed,
    [
      '/etc/keepalived/fulcrum-vrrp.conf.candidate',
      '/etc/keepalived/fulcrum-vrrp.conf',
      '/etc/keepalived/fulcrum-vrrp.batch',
      '/etc/keepalived/fulcrum-alive',
      '/etc/sysctl.d/60-fulcrum-vrrp.conf',
    ].filter((path) => removed.includes(path)),
  )
  test.match(
    host.journal.filter(({ verb }) => verb === 'unit'),
    [{ name: 'clusterha', unitVerb: 'stop' }],
  )
})

t.test('names of interfaces are filled in on the machine; a missing one is left out', async (test) => {
  for (const [names, link] of [
    [new Map([['card-a', 'eth7']]), /^ {4}interface eth7$/m],
    [new Map<string, string>(), /^ {4}interface gone-[\da-f]{10}$/m],
  ] as const) {
    const host = new RecordingHost({ interfaceNames: names })
    await executePlan(host, plan(undefined, pair({})))
    const text = (await host.readFile('/etc/keepalived/fulcrum-vrrp.conf')) ?? ''
    test.match(text, link)
    test.notMatch(text, '{interface:')
  }
})

t.test('programs of each node may listen on addresses of another, before they are configured to', async (test) => {
  const set = plan(ALONE, pair({})).flatMap((step) => (step.kind === 'setting' ? [[step.setting, step.value]] : []))
  test.same(set, [
    [{ kind: 'sysctl', key: 'net.ipv4.ip_nonlocal_bind' }, '1'],
    [{ kind: 'sysctl', key: 'net.ipv6.ip_nonlocal_bind' }, '1'],
    [{ kind: 'unitEnabled', unit: 'clusterha' }, 'enabled'],
  ])
})

t.test('a frontend counts when it is the first or the last that serves', async (test) => {
  const served = { ...pair({}), l7Frontends: [frontend('fe', 'be')] }
  const change = { section: 'l7Frontends', id: 'fe', before: undefined, after: frontend('fe', 'be') } as const
  test.equal(driver.effectOf(change, viewOf(pair({})), viewOf(served)), 'reload')
  test.equal(driver.effectOf(change, viewOf(served), viewOf(served)), undefined)
  const floating = { id: 'fip-0', ip: '10.0.0.100', groupId: 'lan', enabled: true }
  const gone = { section: 'floatingIps', id: 'fip-0', before: floating, after: undefined } as const
  test.equal(driver.effectOf(gone, viewOf(pair({})), viewOf(pair({ floating: [] }))), 'network')
  const other = { section: 'groups', id: 'g', before: undefined, after: undefined } as const
  test.equal(driver.effectOf(other, viewOf({}), viewOf(pair({}))), undefined)
})

t.test('messages of keepalived are passed on', async (test) => {
  test.same(driver.diagnose('no', viewOf({})), [{ section: undefined, id: undefined, field: undefined, message: 'no' }])
})
