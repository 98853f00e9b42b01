import t from 'tap'
import type { PlanOptions } from '../../../../src/drivers/driver.ts'
import { snmpdDriver } from '../../../../src/drivers/snmpd/driver.ts'
import { SNMP_OFF, type SnmpSettings } from '../../../../src/model/snmp.ts'
import { executePlan } from '../../../../workers/executor.ts'
import { RecordingHost } from '../../../../workers/host/recording-host.ts'
import { EVERYTHING } from '../../../fixtures/backup.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { goldenFiles } from '../golden-files.ts'

const CONFIG = '/etc/snmp/snmpd.conf'
const driver = snmpdDriver('node')
const staticIps = [{ id: 'sip-1', nodeId: 'node', groupId: 'g', ip: '192.0.2.10', externalPingCheck: false }]
const BASE: SnmpSettings = { ...SNMP_OFF, community: 'word', serviceIpId: 'sip-1', engineId: '8000000001020304' }
const ON = { ...BASE, enabledV2: true }

const view = (settings?: SnmpSettings, more: Records = {}) =>
  viewOf({ staticIps, ...(settings === undefined ? {} : { snmpSettings: [settings] }), ...more })
const steps = (
  running: SnmpSettings | 'unknown' | undefined,
  desired: SnmpSettings | undefined,
  atLeast: PlanOptions['atLeast'] = 'runtime',
) => driver.plan(running === 'unknown' ? undefined : view(running), view(desired), { atLeast })
const kinds = (...args: Parameters<typeof steps>) =>
  steps(...args).map((step) => {
    if (step.kind === 'setting') return `${step.kind} ${step.value}`
    if (step.kind === 'run') return `${step.kind} ${step.argv[0]}`
    return step.kind === 'unit' ? `${step.kind} ${step.verb} ${step.whenUnchanged}` : step.kind
  })
const STARTED = ['check', 'replaceFile', 'run chgrp', 'run systemctl', 'setting enabled', 'unit restart act', 'run ss']

t.test('goldens', async (test) => goldenFiles(test, 'snmpd', driver, (records) => driver.render(viewOf(records))))

t.test('without a record, or without an address, the machine is left as it was found', async (test) => {
  for (const running of ['unknown', undefined, SNMP_OFF] as const) {
    test.same(kinds(running, undefined), [])
    test.same(kinds(running, SNMP_OFF), [])
  }
})

t.test('a changed configuration restarts snmpd, which then has to listen on its address', async (test) => {
  test.same(kinds(undefined, ON), STARTED)
  test.same(kinds(ON, { ...ON, port: 1161 }), STARTED)
  test.same(kinds(ON, ON), [])
  test.match(steps(undefined, ON).at(-1), { argv: ['ss', /./, /./, /./, /./, /./, 'src 192.0.2.10:161'] })
  test.match(steps(undefined, ON)[1], { path: CONFIG, mode: 0o640, keepsFound: true })
})

t.test('a restarted daemon leaves a correct snmpd alone', async (test) => {
  test.ok(kinds('unknown', ON).includes('unit restart skip'))
  test.ok(kinds('unknown', ON, 'reload').includes('unit restart act'), 'after a crash it does not')
})

t.test('switched off, and on a disabled floating IP, it does not run', async (test) => {
  test.same(kinds(ON, BASE), ['setting disabled', 'removeFile'])
  test.same(kinds('unknown', BASE), ['setting disabled', 'removeFile'])
  const floating = (enabled: boolean) =>
    view({ ...ON, serviceIpId: 'fip-1' }, { floatingIps: [{ id: 'fip-1', groupId: 'g', ip: '192.0.2.11', enabled }] })
  const [off] = driver.plan(floating(true), floating(false), { atLeast: 'runtime' })
  test.match(off, { kind: 'setting', value: 'disabled' })
  const [first] = driver.plan(floating(false), floating(true), { atLeast: 'runtime' })
  test.match(first, { kind: 'check', content: /^agentaddress udp:192\.0\.2\.11:161$/m })
})

t.test('the state before the first record comes back with the last', async (test) => {
  test.same(kinds(ON, undefined), ['removeFile', 'run find', 'run systemctl', 'setting undefined'])
  const host = new RecordingHost()
  await host.replaceFile(CONFIG, 'rocommunity of-the-administrator\n', 0o640)
  for (const [running, desired] of [
    [undefined, ON],
    [ON, { ...ON, location: 'x' }],
  ] as const) {
    test.match(await executePlan(host, steps(running, desired)), { ok: true })
    test.match(await host.readFile(CONFIG), /^# Written by Fulcrum/)
  }
  test.match(await executePlan(host, steps(ON, undefined)), { ok: true })
  test.equal(await host.readFile(CONFIG), 'rocommunity of-the-administrator\n')
  const given = host.journal.findLast((entry) => entry.verb === 'replaceFile' && entry.path === CONFIG)
  test.match(given, { mode: 0o640 }, 'and no other user may read it')
})

t.test('a change costs a restart when the agent changes, and nothing otherwise', async (test) => {
  const { snmpUsers } = EVERYTHING
  const [user] = snmpUsers
  if (user === undefined) throw new Error('no user')
  const change = { section: 'snmpUsers', id: user.id, before: undefined, after: user } as const
  test.equal(driver.effectOf(change, view(ON), view(ON, { snmpUsers })), undefined, 'version 3 is off')
  const v3 = { ...ON, enabledV3: true }
  test.equal(driver.effectOf(change, view(v3), view(v3, { snmpUsers })), 'restart')
  const settings = { section: 'snmpSettings', id: 'cluster', before: ON, after: BASE } as const
  test.equal(driver.effectOf(settings, view(ON), view(BASE)), 'restart')
  const other = { section: 'staticIps', id: 'another', before: undefined, after: undefined } as const
  test.equal(driver.effectOf(other, view(ON), view(ON)), undefined)
})

t.test('values that the API refuses are problems when they come another way', async (test) => {
  const fields = (settings: SnmpSettings) => driver.verify(view(settings)).map(({ field }) => field)
  test.same(fields(ON), [])
  test.same(fields({ ...ON, community: '', location: '#', contact: ' x' }), ['community', 'location', 'contact'])
  test.same(fields({ ...ON, serviceIpId: '' }), ['serviceIpId'])
  test.same(fields({ ...SNMP_OFF, engineId: '80' }), [])
})

t.test('messages of snmpd are blamed on the settings', async (test) => {
  test.match(driver.diagnose('it failed\n', view(ON)), [
    { section: 'snmpSettings', id: 'cluster', message: 'it failed' },
  ])
  test.match(driver.diagnose('', view(ON)), [{ message: 'snmpd gave no reason' }])
})
