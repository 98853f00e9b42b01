import t from 'tap'
import { chronyDriver } from '../../../../src/drivers/chrony/driver.ts'
import type { PlanOptions } from '../../../../src/drivers/driver.ts'
import type { ClockSettings } from '../../../../src/model/node.ts'
import { executePlan } from '../../../../workers/executor.ts'
import { RecordingHost } from '../../../../workers/host/recording-host.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { goldenFiles } from '../golden-files.ts'

const CONFIG = '/etc/chrony/chrony.conf'
const driver = chronyDriver('node')
type Ntp = ClockSettings['ntp']
const clock = (ntp: Ntp, id = 'node'): ClockSettings => ({ id, timezone: '', ntp })
const view = (ntp?: Ntp) => viewOf({ clocks: ntp === undefined ? [] : [clock(ntp)] })
const on = (...servers: string[]): Ntp => ({ enabled: true, servers })
const off = (...servers: string[]): Ntp => ({ enabled: false, servers })

const steps = (
  running: Ntp | 'unknown' | undefined,
  desired: Ntp | undefined,
  atLeast: PlanOptions['atLeast'] = 'runtime',
) => driver.plan(running === 'unknown' ? undefined : view(running), view(desired), { atLeast })
const kinds = (...args: Parameters<typeof steps>) =>
  steps(...args).map((step) => {
    if (step.kind === 'setting') return `${step.kind} ${step.value}`
    return step.kind === 'unit' ? `${step.kind} ${step.verb} ${step.whenUnchanged}` : step.kind
  })
const ENABLED = ['check', 'replaceFile', 'setting enabled', 'unit restart act']

t.test('goldens', async (test) => goldenFiles(test, 'chrony', driver, (records) => driver.render(viewOf(records))))

t.test('without a record the machine is left as it was found', async (test) => {
  for (const running of ['unknown', undefined, null] as const) {
    test.same(kinds(running, undefined), [])
    test.same(kinds(running, null), [])
  }
  test.same(driver.plan(undefined, viewOf({ clocks: [clock(on(), 'another-node')] }), { atLeast: 'runtime' }), [])
})

t.test('chrony checks its file before it is put in place, and is restarted when it changed', async (test) => {
  test.same(kinds(undefined, on('a.test')), ENABLED)
  test.same(kinds(off(), on('a.test')), ENABLED)
  test.same(kinds(on('a.test'), on('b.test')), ENABLED)
  test.same(kinds(on('a.test'), on('a.test')), [])
  test.same(kinds(off('a.test'), off('b.test')), [], 'servers of a chrony that does not run')
  test.match(steps(undefined, on())[0], { argv: ['chronyd', '-p', '-f', `${CONFIG}.candidate`], path: CONFIG })
})

t.test('a restarted daemon leaves a correct chrony alone', async (test) => {
  test.same(kinds('unknown', on('a.test')), ['check', 'replaceFile', 'setting enabled', 'unit restart skip'])
  test.same(kinds('unknown', on('a.test'), 'reload'), ENABLED, 'after a crash it does not')
})

t.test('switched off, chrony stops for good and its file is the original one', async (test) => {
  for (const running of [on('a.test'), undefined, 'unknown'] as const) {
    test.same(kinds(running, off('a.test')), ['setting disabled', 'removeFile'])
  }
})

t.test('the state before the first record comes back with the last', async (test) => {
  test.same(kinds(on(), undefined), ['removeFile', 'unit restart act', 'setting undefined'])
  test.same(kinds(off(), null), ['removeFile', 'setting undefined'], 'a stopped program is not started')
  const host = new RecordingHost()
  await host.replaceFile(CONFIG, 'pool of.the.administrator\n', 0o644)
  for (const [running, desired] of [
    [undefined, on('a.test')],
    [on('a.test'), on('b.test')],
  ] as const) {
    test.match(await executePlan(host, steps(running, desired)), { ok: true })
    test.match(await host.readFile(CONFIG), /^# Written by Fulcrum/)
  }
  test.match(await executePlan(host, steps(on('b.test'), off('b.test'))), { ok: true })
  test.equal(await host.readFile(CONFIG), 'pool of.the.administrator\n')
  test.match(await executePlan(host, steps(off('b.test'), undefined)), { ok: true })
  test.equal(await host.readFile(CONFIG), 'pool of.the.administrator\n', 'a second time leaves it alone')
})

t.test('a change of the zone alone does not concern chrony', async (test) => {
  const after = { ...clock(on()), timezone: 'Europe/Paris' }
  const change = { section: 'clocks', id: 'node', before: clock(on()), after } as const
  test.equal(driver.effectOf(change, view(), view()), undefined)
  test.equal(driver.effectOf({ ...change, after: clock(off()) }, view(), view()), 'restart')
  test.equal(driver.effectOf({ ...change, id: 'another-node', after: clock(off()) }, view(), view()), undefined)
})

t.test('a stored server that is no host is a problem before anything happens', async (test) => {
  test.match(driver.verify(view(on('a.test', 'b c'))), [{ section: 'clocks', id: 'node', field: 'ntp.servers.1' }])
  test.same(driver.verify(view()), [])
})

t.test("chrony's messages are blamed on the server of the line, or on all", async (test) => {
  const said = (line: number) => `2026-01-01T00:00:00Z Fatal error : Invalid syntax at line ${line} in file x`
  const desired = view(on('a.test', 'b.test', 'a.test', 'c.test'))
  test.match(driver.diagnose(said(4), desired), [
    { field: 'ntp.servers.3', message: 'Invalid syntax at line 4 in file x' },
  ])
  test.match(driver.diagnose(said(9), desired), [{ id: 'node', field: 'ntp' }])
  test.match(driver.diagnose('killed', view()), [{ field: 'ntp', message: 'killed' }])
})
