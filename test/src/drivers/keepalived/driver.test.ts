import t from 'tap'
import type { Step } from '../../../../src/drivers/driver.ts'
import { keepalivedDriver } from '../../../../src/drivers/keepalived/driver.ts'
import type { PlanOptions } from '../../../../src/drivers/driver.ts'
import { executePlan } from '../../../../workers/executor.ts'
import { RecordingHost } from '../../../../workers/host/recording-host.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { goldenFiles } from '../golden-files.ts'

const driver = keepalivedDriver('n1')
const web = (more: Parameters<typeof realServer>[1] = {}) => realServer('web', { ip: '10.0.0.21', port: 80, ...more })
const other = realServer('other', { ip: '10.0.0.22', port: 80 })
const SITE: Records = {
  realServers: [web(), other],
  l4Backends: [l4Backend('be', ['web', 'other'])],
  l4Frontends: [l4Frontend('fe', 'be')],
}
const plan = (running: Records | 'unknown', desired: Records, atLeast: PlanOptions['atLeast'] = 'runtime') =>
  driver.plan(running === 'unknown' ? undefined : viewOf(running), viewOf(desired), { atLeast })
const kinds = (steps: readonly Step[]) => steps.map(({ kind }) => kind)
const units = (steps: readonly Step[]) =>
  steps.flatMap((step) => (step.kind === 'unit' ? [`${step.verb} ${step.whenUnchanged}`] : []))
const weights = (steps: readonly Step[]) =>
  steps.flatMap((step) => (step.kind === 'values' ? [Object.fromEntries(step.values)] : []))

t.test('goldens', async (test) => goldenFiles(test, 'keepalived', driver, (records) => driver.render(viewOf(records))))

t.test('without a serving frontend, the machine is left as it was found', async (test) => {
  const records = { ...SITE, l4Frontends: [l4Frontend('fe', 'be', { enabled: false })] }
  for (const nothing of [{}, records]) {
    test.same(plan('unknown', nothing), [])
    test.same(plan({}, nothing), [])
    test.same(driver.render(viewOf(nothing)), [])
  }
})

t.test('the original state of the service is stored before anything starts it', async (test) => {
  const ofUnit = plan('unknown', SITE, 'reload').filter(
    (step) => step.kind === 'unit' || (step.kind === 'setting' && step.setting.kind === 'unitEnabled'),
  )
  test.same(kinds(ofUnit), ['setting', 'unit'])
})

t.test('drain, halt, online and weights need no reload: small files that keepalived watches', async (test) => {
  const cases = [
    [web({ state: 'drained' }), { web: '-1\n', 'web.0': '0\n' }],
    [web({ state: 'halted' }), { web: '-2147483648\n', 'web.0': '-2147483648\n' }],
    [web({ weight: 7 }), { web: '6\n', 'web.0': '7\n' }],
  ] as const
  for (const [changed, files] of cases) {
    const desired = { ...SITE, realServers: [changed, other] }
    const there = plan(SITE, desired)
    const back = plan(desired, SITE)
    test.same(weights(there), [files], changed.state)
    test.same(weights(back), [{ web: '99\n', 'web.0': '100\n' }])
    test.same(units([...there, ...back]), [])
    const change = { section: 'realServers', id: 'web', before: web(), after: changed } as const
    test.equal(driver.effectOf(change, viewOf(SITE), viewOf(desired)), 'runtime')
  }
})

t.test('the kernel is read back, and a reload follows if it differs', async (test) => {
  const steps = plan(SITE, { ...SITE, realServers: [web({ state: 'drained' }), other] })
  test.match(
    steps.find(({ kind }) => kind === 'run'),
    {
      kind: 'run',
      argv: ['ipvsadm', '--save', '--numeric'],
      isRuntime: true,
      expect: {
        begins: ['-A -t 192.0.2.10:80 '],
        ends: [{ beginning: '-a -t 192.0.2.10:80 -r 10.0.0.21:80 ', end: '-m -w 0' }],
      },
    },
  )
})

t.test('a new name needs no reload, a new server, scheduler or port does', async (test) => {
  const named = { ...SITE, realServers: [web({ name: 'new name' }), other] }
  test.same(kinds(plan(SITE, named)), ['replaceFile'])
  const reloads: readonly Records[] = [
    { ...SITE, l4Backends: [l4Backend('be', ['web'])] },
    { ...SITE, l4Backends: [l4Backend('be', ['web', 'other'], { scheduler: 'lc' })] },
    { ...SITE, l4Frontends: [l4Frontend('fe', 'be', { ports: '81' })] },
    { ...SITE, l4Frontends: [l4Frontend('fe', 'be', { ports: '80,443' })] },
  ]
  for (const desired of reloads) test.same(units(plan(SITE, desired)), ['reload act'])
  test.same(units(plan(SITE, SITE, 'restart')), ['restart act'])
})

t.test('a starting daemon leaves a correct keepalived alone', async (test) => {
  test.same(units(plan('unknown', SITE)), ['reload skip'])
  test.same(units(plan('unknown', SITE, 'reload')), ['reload act'])
})

t.test('checks come first, and every file that a reload reads exists before it', async (test) => {
  const steps = plan({}, SITE)
  const order = kinds(steps)
  test.equal(order.lastIndexOf('check') < order.findIndex((kind) => kind !== 'check'), true)
  const reload = order.indexOf('unit')
  const configs = steps.flatMap((step, at) => (step.kind === 'replaceFile' ? [at] : []))
  test.ok(configs.every((at) => at < reload))
  const firstSetting = steps.find(({ kind }) => kind === 'setting')
  test.match(firstSetting, { setting: { name: 'ip_vs' }, isOptional: false })
})

t.test('the last frontend restores the machine as found', async (test) => {
  const host = new RecordingHost()
  await host.replaceFile('/etc/keepalived/keepalived.conf', 'what somebody wrote\n', 0o644)
  const fallback = { ip: '10.0.0.99', port: 80 }
  const site = { ...SITE, l4Backends: [l4Backend('be', ['web', 'other'], { fallback })] }
  const done = await executePlan(
    host,
    plan({}, site).filter((step) => step.kind !== 'run'),
  )
  test.match(done, { ok: true })
  test.match(await host.readFile('/etc/keepalived/keepalived.conf'), /^# Written by Fulcrum/)
  const steps = plan(site, {})
  test.match(await executePlan(host, steps), { ok: true })
  test.equal(await host.readFile('/etc/keepalived/keepalived.conf'), 'what somebody wrote\n')
  test.same(await host.listFiles('/run/fulcrum-weights'), [])
  test.same(await host.listFiles('/etc/keepalived'), ['keepalived.conf'])
  test.same(units(steps), ['stop act'])
})

t.test('a starting daemon removes no file that an earlier keepalived still watches', async (test) => {
  const halted = { ...SITE, realServers: [web({ state: 'halted' }), other] }
  const kept = plan('unknown', halted).flatMap((step) =>
    step.kind === 'keepOnly' && step.folder === '/run/fulcrum-weights' ? [...step.names] : [],
  )
  // It was halted at runtime: keepalived has read the configuration with the first file.
  test.ok(kept.includes('web') && kept.includes('web.0'), kept.join())
})

t.test('an unused mark of a frontend leaves no service behind', async (test) => {
  const ranges = (persistTimeout: number): Records => ({
    ...SITE,
    l4Backends: [l4Backend('be', ['web', 'other'], { persistTimeout })],
    l4Frontends: [l4Frontend('fe', 'be', { ports: '80,81' })],
  })
  const gone = (before: Records, after: Records) =>
    plan(before, after).filter((step) => step.kind === 'run' && step.argv.includes('--delete-service')).length
  test.equal(gone(ranges(60), ranges(0)), 3)
  test.equal(gone(ranges(60), SITE), 3)
  test.equal(gone(ranges(0), ranges(0)), 0)
  const direct: Records = { ...SITE, l4Frontends: [l4Frontend('fe', 'be', { forwarding: 'gate' })] }
  test.same(
    plan(ranges(60), direct).filter(
      (step) => step.kind === 'run' && step.argv.some((word) => word.startsWith('delete map')),
    ),
    [],
    'the maps are deleted with their table',
  )
})
