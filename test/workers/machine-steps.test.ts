import t from 'tap'
import type { Expectation, Step } from '../../src/drivers/driver.ts'
import type { DesiredNetwork, NetworkOutcome, RunResult, Setting } from '../../src/drivers/host.ts'
import { chronyDriver } from '../../src/drivers/chrony/driver.ts'
import { snmpdDriver } from '../../src/drivers/snmpd/driver.ts'
import { sshdDriver } from '../../src/drivers/sshd/driver.ts'
import { executePlan } from '../../workers/executor.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { KeyValueMemory } from '../../workers/host/key-value-file.ts'
import { LinuxHost } from '../../workers/host/linux-host.ts'
import { RecordingHost } from '../../workers/host/recording-host.ts'
import { SNMP_OFF } from '../../src/model/snmp.ts'
import { type Records, viewOf } from '../fixtures/view.ts'

const basics = { why: 'test', timeout_ms: 1000 }
const SIZE: Setting = { kind: 'sysctl', key: 'net.netfilter.nf_conntrack_max' }
const size = (value: string | undefined, isOptional = false): Step => ({
  ...basics,
  kind: 'setting',
  setting: SIZE,
  value,
  isOptional,
})
const broken: Step = { ...basics, kind: 'run', argv: ['broken'], undo: [] }

/** A kernel with one setting. */
class OneSetting extends RecordingHost {
  value: string | undefined = '262144'
  accepts: (value: string) => RunResult = () => ({ exitCode: 0, output: '' })
  override readonly found = new KeyValueMemory()
  constructor() {
    super({ answerRun: () => ({ exitCode: 1, output: 'broken' }) })
  }
  override async readSetting(): Promise<string | undefined> {
    return this.value
  }
  override async writeSetting(_setting: Setting, value: string): Promise<RunResult> {
    const result = this.accepts(value)
    if (result.exitCode === 0) this.value = value
    return result
  }
}

t.test('a setting gets its value, and the original is restored when no value is wanted any more', async (t) => {
  const host = new OneSetting()
  t.match(await executePlan(host, [size('1000')]), { ok: true })
  t.match(await executePlan(host, [size('2000')]), { ok: true })
  t.equal(host.value, '2000')
  t.match(await executePlan(host, [size(undefined)]), { ok: true })
  t.equal(host.value, '262144', 'as before the first change')
})

t.test('a setting that was never changed is left alone', async (t) => {
  const host = new OneSetting()
  host.accepts = () => ({ exitCode: 1, output: 'written' })
  t.match(await executePlan(host, [size(undefined), size('262144')]), { ok: true })
})

t.test('a later failure reverts a setting; a refused one fails', async (t) => {
  const host = new OneSetting()
  t.match(await executePlan(host, [size('1000'), broken]), { ok: false, output: 'broken', undone: true })
  t.equal(host.value, '262144')
  host.accepts = () => ({ exitCode: 1, output: 'Invalid argument' })
  t.match(await executePlan(host, [size('1000')]), { ok: false, kind: 'setting', output: /Invalid argument/ })
})

const FOUND = 'sysctl net.netfilter.nf_conntrack_max'

t.test('the original stored by a failed plan is forgotten: a later change of the owner is restored', async (t) => {
  const host = new OneSetting()
  t.match(await executePlan(host, [size('1000'), broken]), { ok: false, undone: true })
  t.equal(await host.found.get(FOUND), undefined)
  host.value = '131072'
  await executePlan(host, [size('1000')])
  await executePlan(host, [size(undefined)])
  t.equal(host.value, '131072')
})

t.test('a restored original is forgotten, also when the owner had restored it', async (t) => {
  const host = new OneSetting()
  await executePlan(host, [size('1000')])
  await executePlan(host, [size(undefined)])
  t.equal(await host.found.get(FOUND), undefined)
  await executePlan(host, [size('1000')])
  host.value = '262144'
  await executePlan(host, [size(undefined)])
  t.equal(await host.found.get(FOUND), undefined)
})

t.test('a restore that is undone, and a later failed change, keep the original', async (t) => {
  const host = new OneSetting()
  await executePlan(host, [size('1000')])
  t.match(await executePlan(host, [size(undefined), broken]), { ok: false, undone: true })
  t.equal(host.value, '1000')
  t.equal(await host.found.get(FOUND), '262144')
  t.match(await executePlan(host, [size('2000'), broken]), { ok: false, undone: true })
  t.equal(await host.found.get(FOUND), '262144')
})

t.test('a setting that could not be reverted keeps its original', async (t) => {
  const host = new OneSetting()
  host.accepts = (value) => ({ exitCode: value === '1000' ? 0 : 1, output: 'no' })
  t.match(await executePlan(host, [size('1000'), broken]), { ok: false, undone: false })
  t.equal(await host.found.get(FOUND), '262144')
})

t.test('a setting without effect is noticed', async (t) => {
  const host = new OneSetting()
  host.writeSetting = async () => ({ exitCode: 0, output: '' })
  t.match(await executePlan(host, [size('1000')]), { ok: false, output: /is 262144 and not 1000/ })
})

t.test('a machine without the setting: missing, or left alone when it is optional', async (t) => {
  const host = new OneSetting()
  host.value = undefined
  t.match(await executePlan(host, [size('1000')]), { ok: false, missing: true, output: /nf_conntrack_max/ })
  t.match(await executePlan(host, [size('1000', true), size(undefined)]), { ok: true })
})

t.test('a network is reverted with its answer; its warnings come with the result', async (t) => {
  const desired: DesiredNetwork = { addresses: [], routes: [], rules: [] }
  const calls: string[] = []
  class Networked extends OneSetting {
    override async network(_: DesiredNetwork, phase: 'add' | 'settle'): Promise<NetworkOutcome> {
      calls.push(phase)
      const undo = async () => {
        calls.push(`undo ${phase}`)
        return { exitCode: 0, output: '' }
      }
      return { exitCode: 0, output: '', undo, warnings: [`${phase}: eth9 is not there`] }
    }
  }
  const steps: Step[] = [
    { ...basics, kind: 'network', desired, phase: 'add' },
    { ...basics, kind: 'network', desired, phase: 'settle' },
  ]
  const whole = await executePlan(new Networked(), steps)
  t.match(whole, { ok: true, warnings: ['add: eth9 is not there', 'settle: eth9 is not there'] })
  await executePlan(new Networked(), [...steps, broken])
  t.strictSame(calls.slice(2), ['add', 'settle', 'undo settle', 'undo add'])
  const settle: Step = { ...basics, kind: 'network', desired, phase: 'settle', keepsPart: true }
  await executePlan(new Networked(), [settle, broken])
  t.strictSame(calls.slice(6), ['settle'], 'the undo has none itself')
})

t.test('an account is changed; the password is in no journal and no result', async (t) => {
  const host = new RecordingHost()
  const change = { account: 'console', shell: true, password: { secret: 'Secret-123' } } as const
  const result = await executePlan(host, [{ ...basics, kind: 'account', change }])
  t.match(result, { ok: true, recorded: 1 })
  t.equal(await host.hasShell('console'), true)
  t.notOk(JSON.stringify([result, host.journal]).includes('Secret-123'))
})

t.test('a unit that was stopped is stopped again', async (t) => {
  const restart = {
    ...basics,
    kind: 'unit',
    unit: 'ntp',
    verb: 'restart',
    undo: 'asFound',
    whenUnchanged: 'act',
  } as const
  for (const [before, after] of [
    ['stop', 'stop'],
    ['start', 'restart'],
  ] as const) {
    const host = new OneSetting()
    await host.unit('ntp', before)
    await executePlan(host, [restart, broken])
    t.match(host.journal.at(-1), { verb: 'unit', unitVerb: after }, `after ${before}`)
  }
})

t.test('counters are read right before a unit that ends counting, when it has anything to do', async (t) => {
  const host = new RecordingHost()
  const units = () => host.journal.filter(({ verb }) => verb === 'unit').length
  const read: number[] = []
  const capture = async () => void read.push(units())
  const reload = { ...basics, kind: 'unit', unit: 'layer7proxy', verb: 'reload', undo: 'none' } as const
  const ends = { ...reload, whenUnchanged: 'act', endsCounting: true } as const
  await executePlan(host, [{ ...reload, whenUnchanged: 'act' }, ends], { capture })
  t.strictSame([read, units()], [[1], 2])
  await executePlan(host, [{ ...ends, whenUnchanged: 'skip' }], { capture })
  t.strictSame([read, units()], [[1], 2], 'it runs, and is left alone')
})

t.test('before a reload counters are read while its file is checked, once', async (t) => {
  const order: string[] = []
  const host = new RecordingHost({
    answerRun: () => {
      order.push('check')
      return { exitCode: 0, output: '' }
    },
  })
  const capture = async () => void order.push('read')
  const check = { ...basics, kind: 'check', path: '/c', content: 'x', mode: 0o600, argv: ['haproxy', '-c'] } as const
  const unit = { ...basics, kind: 'unit', unit: 'layer7proxy', undo: 'none', whenUnchanged: 'act' } as const
  await executePlan(host, [check, check, { ...unit, verb: 'reload', endsCounting: true }], { capture })
  t.strictSame(order.splice(0), ['read', 'check', 'check'])
  await executePlan(host, [check, { ...unit, verb: 'restart', endsCounting: true }], { capture })
  t.strictSame(order.splice(0), ['check', 'read'], 'a restart loses counts up to the last moment')
  await executePlan(host, [check, { ...unit, verb: 'reload' }], { capture })
  t.strictSame(order, ['check'])
})

t.test('an awaited effect is waited for, within the time of the step', async (t) => {
  const outputs = ['', 'LISTEN users:(("sshd",pid=7))']
  const host = new RecordingHost({ answerRun: () => ({ exitCode: 0, output: outputs.shift() ?? 'nothing' }) })
  // A host that carries out steps has no recorded ones.
  Object.defineProperty(host, 'recorded', { value: 0 })
  const expect = { comes: '"sshd"', otherwise: 'sshd does not listen' }
  const wait: Step = { why: 'test', kind: 'run', argv: ['ss'], undo: [], expect, timeout_ms: 5_000 }
  t.match(await executePlan(host, [wait]), { ok: true })
  t.equal(host.journal.length, 2)
  t.match(await executePlan(host, [{ ...wait, timeout_ms: 150 }]), { ok: false, output: 'sshd does not listen' })
})

t.test('a table of lines is waited for: required lines, and the required ends of others', async (t) => {
  const table = [
    '-A -t 192.0.2.1:80 -s wlc',
    '-a -t 192.0.2.1:80 -r 10.0.0.1:80 -m -w 5',
    '-a -t 192.0.2.1:80 -r 10.0.0.11:80 -m -w 7',
  ]
  const host = new RecordingHost({ answerRun: () => ({ exitCode: 0, output: `${table.join('\n')}\n` }) })
  Object.defineProperty(host, 'recorded', { value: 0 })
  const verdict = (begins: readonly string[], ends: readonly (readonly [string, string | undefined])[]) => {
    const expect = { begins, ends: ends.map(([beginning, end]) => ({ beginning, end })) }
    return executePlan(host, [{ why: 'test', kind: 'run', argv: ['ipvsadm'], undo: [], expect, timeout_ms: 50 }])
  }
  const server = '-a -t 192.0.2.1:80 -r 10.0.0.1:80 '
  t.match(await verdict(['-A -t 192.0.2.1:80 '], [[server, '-m -w 5']]), { ok: true })
  t.match(
    await verdict([], [['-a -t 192.0.2.1:80 -r 10.0.0.2:80 ', '-m -w 5']]),
    { ok: true },
    'a missing one is right',
  )
  t.match(await verdict(['-A -u 192.0.2.1:80 '], []), { ok: false, output: /found no -A -u 192\.0\.2\.1:80/ })
  t.match(await verdict([], [[server, '-m -w 0']]), { ok: false, output: /-w 5, expected -m -w 0/ })
  t.match(await verdict([], [[server, undefined]]), { ok: false, output: /expected none/ })
})

t.test('a step that may be unnecessary may fail', async (t) => {
  const host = new RecordingHost({ answerRun: () => ({ exitCode: 2, output: 'No such service' }) })
  const step: Step = { ...basics, kind: 'run', argv: ['ipvsadm', '-D'], undo: [] }
  t.match(await executePlan(host, [step]), { ok: false })
  t.match(await executePlan(host, [{ ...step, mayFail: true }]), { ok: true })
})

t.test('output that is checked is read to its end, however long it is', async (t) => {
  const folder = temporaryFolder(t, 'state')
  const host = new LinuxHost({ layer7proxy: { mode: 'systemd', masterSocket: '' } }, folder)
  const counted = (expect: Expectation): Step => ({ ...basics, kind: 'run', argv: ['seq', '30000'], undo: [], expect })
  const last = { begins: ['29999'], ends: [{ beginning: '30000', end: '00' }] }
  t.match(await executePlan(host, [counted(last)]), { ok: true }, '169 KB')
  const missing = await executePlan(host, [counted({ begins: ['30001'], ends: [] })])
  t.match(missing, { ok: false, output: 'found no 30001' })
})

/** A service as in systemd: enabling starts it, and disabling stops it. */
class OneService extends RecordingHost {
  state: string
  constructor(state: string) {
    super({
      answerRun: ([program]) => ({ exitCode: program === 'broken' ? 1 : 0, output: '"sshd" "snmpd"\nport 2222' }),
    })
    this.state = state
  }
  get #isRunning() {
    return this.state === 'enabled' || this.state === 'disabled running'
  }
  override async readSetting() {
    return this.state
  }
  override async writeSetting(_setting: Setting, value: string): Promise<RunResult> {
    this.state = value
    return { exitCode: 0, output: '' }
  }
  override async unitState() {
    return this.#isRunning ? 'running' : 'stopped'
  }
  override async unit(_name: string, verb: string): Promise<RunResult> {
    const [word] = this.state.split(' ')
    this.state =
      (verb === 'stop') === (word === 'disabled') ? `${word}` : `${word} ${verb === 'stop' ? 'stopped' : 'running'}`
    return { exitCode: 0, output: '' }
  }
}

const NODE = 'node-1'
const SERVICES: Readonly<Record<string, readonly [ReturnType<typeof sshdDriver>, Records]>> = {
  sshd: [
    sshdDriver(NODE),
    { userInterfaces: [{ id: NODE, apiPort: 9443, ipId: '', SSLCertificate: '', sshEnabled: true, sshPort: 2222 }] },
  ],
  chrony: [chronyDriver(NODE), { clocks: [{ id: NODE, timezone: '', ntp: { enabled: true, servers: [] } }] }],
  snmpd: [
    snmpdDriver(NODE),
    {
      snmpSettings: [{ ...SNMP_OFF, engineId: '8000000001', serviceIpId: 's', enabledV3: true }],
      staticIps: [{ id: 's', nodeId: NODE, groupId: 'g', ip: '192.0.2.9', externalPingCheck: false }],
    },
  ],
}

for (const [name, [driver, records]] of Object.entries(SERVICES)) {
  for (const found of ['enabled', 'enabled stopped', 'disabled', 'disabled running']) {
    t.test(`${name} that was found ${found} is that again, after a failure and when it is not ours`, async (t) => {
      const [none, on] = [viewOf({}), viewOf(records)]
      const steps = driver.plan(none, on, { atLeast: 'runtime' })
      const host = new OneService(found)
      t.match(await executePlan(host, [...steps, broken]), { ok: false, output: /sshd/, undone: true })
      t.equal(host.state, found, 'reverted')
      t.match(await executePlan(host, steps), { ok: true })
      t.equal(host.state, 'enabled')
      t.match(await executePlan(host, driver.plan(on, none, { atLeast: 'runtime' })), { ok: true })
      t.equal(host.state, found, 'restored')
    })
  }
}
