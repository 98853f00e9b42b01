import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import type { Step } from '../../../../src/drivers/driver.ts'
import { sshdDriver } from '../../../../src/drivers/sshd/driver.ts'
import type { UserInterface } from '../../../../src/model/node.ts'
import { executePlan } from '../../../../workers/executor.ts'
import { KeyValueMemory } from '../../../../workers/host/key-value-file.ts'
import { RecordingHost } from '../../../../workers/host/recording-host.ts'
import { viewOf } from '../../../fixtures/view.ts'

const GOLDEN = new URL('../../../golden/sshd/', import.meta.url)
const FRAGMENT = '/etc/ssh/sshd_config.d/fulcrum.conf'
const NODE = 'node-1'
const driver = sshdDriver(NODE)
const runtime = { atLeast: 'runtime' } as const

const record = (more: Partial<UserInterface> = {}): UserInterface => ({
  id: NODE,
  apiPort: 9443,
  ipId: '',
  SSLCertificate: '',
  sshEnabled: true,
  sshPort: 22,
  ...more,
})
const of = (more: Partial<UserInterface> = {}) => viewOf({ userInterfaces: [record(more)] })
const none = viewOf({})
/** Settings of the API, and none of sshd. */
const API = { apiPort: 8443, ipId: '', SSLCertificate: '' }
const apiOnly = viewOf({ userInterfaces: [{ id: NODE, ...API }] })
const onAsFound = viewOf({ userInterfaces: [{ id: NODE, ...API, sshEnabled: true }] })
const described = (steps: readonly Step[]) =>
  steps.map((step) => {
    if (step.kind === 'unit') return `${step.verb} (${step.whenUnchanged})`
    if (step.kind === 'setting') return `setting ${step.value}`
    return step.kind
  })
const ON = ['check', 'replaceFile', 'run', 'setting enabled', 'reload (act)', 'run']

for (const file of readdirSync(GOLDEN).filter((name) => name.endsWith('.json'))) {
  const name = file.replace('.json', '')
  t.test(`golden ${name}`, (t) => {
    const settings = JSON.parse(readFileSync(new URL(file, GOLDEN), 'utf8')) as Omit<UserInterface, 'id'>
    const rendered = driver.render(of(settings)).map(({ path, content }) => (t.equal(path, FRAGMENT), content))
    t.equal(rendered.join(''), readFileSync(new URL(`${name}.conf`, GOLDEN), 'utf8'))
    t.end()
  })
}

t.test('plans by type of change', (t) => {
  const kinds = (...views: Parameters<typeof driver.plan>) => described(driver.plan(...views))
  t.strictSame(kinds(none, none, runtime), [], 'without a record nothing, as found')
  t.strictSame(kinds(undefined, none, runtime), [], 'nor at a start')
  t.strictSame(kinds(of(), of({ apiPort: 8443 }), runtime), [], 'the port of the API is not sshd’s')
  t.strictSame(
    kinds(of(), of({ id: 'node-2', sshPort: 2222 }), runtime).length > 0,
    true,
    'this node’s record is deleted',
  )
  t.strictSame(kinds(none, apiOnly, runtime), [], 'a record without sshd')
  t.strictSame(kinds(undefined, apiOnly, runtime), [], 'nor at a start')
  t.strictSame(kinds(of(), apiOnly, runtime), kinds(of(), none, runtime), 'its settings are removed')
  t.strictSame(kinds(none, viewOf({ userInterfaces: [record({ id: 'node-2' })] }), runtime), [], 'another node’s')
  t.strictSame(kinds(of(), of({ sshPort: 2222 }), runtime), ON, 'a port')
  t.strictSame(kinds(none, of({ sshPort: 2222 }), runtime), ON, 'the first record')
  t.strictSame(kinds(of(), of({ sshEnabled: false }), runtime), ['setting disabled', 'removeFile'], 'off')
  t.strictSame(kinds(of({ sshEnabled: false }), of({ sshEnabled: false, sshPort: 2 }), runtime), [], 'off stays off')
  t.strictSame(kinds(of({ sshEnabled: false }), of(), runtime), ON, 'on again')
  t.strictSame(
    kinds(of(), none, runtime),
    ['run', 'removeFile', 'run', 'setting undefined'],
    'the record is deleted: the machine as found',
  )
  t.end()
})

t.test('on, on its present ports: no port is given', (t) => {
  const steps = driver.plan(none, onAsFound, runtime)
  t.strictSame(described(steps), ['check', 'replaceFile', 'setting enabled', 'reload (act)', 'run'])
  t.match(steps[0], { ports: [] })
  t.match(steps.at(-1), { why: 'wait until sshd listens', argv: ['ss', /^--/, /^--/, /^--/, /^--/, /^--processes$/] })
  t.notMatch(driver.render(onAsFound)[0]?.content, /Port/)
  t.end()
})

t.test('plans of an unknown machine, and of at least a given cost', (t) => {
  const reload = (atLeast: 'runtime' | 'reload' | 'restart') =>
    described(driver.plan(undefined, of(), { atLeast })).find((step) => step.includes('('))
  t.equal(reload('runtime'), 'reload (skip)', 'an sshd that runs with this file is left alone')
  t.equal(reload('reload'), 'reload (act)')
  t.equal(reload('restart'), 'restart (act)')
  t.end()
})

t.test('a port is tested beforehand when sshd is known not to have it', (t) => {
  const ports = (...[running, desired]: [Parameters<typeof driver.plan>[0], Parameters<typeof driver.plan>[1]]) => {
    const [check] = driver.plan(running, desired, runtime)
    return check?.kind === 'check' ? check.ports?.map(({ port }) => port) : undefined
  }
  t.strictSame(ports(of(), of({ sshPort: 2222 })), [2222], 'another port')
  t.strictSame(ports(of({ sshEnabled: false }), of()), [22], 'sshd does not run')
  t.strictSame(ports(none, of({ sshPort: 2222 })), [], 'it may be listening there')
  t.strictSame(ports(undefined, of()), [])
  t.end()
})

t.test('every check comes before the reload, and the whole configuration is checked with the port', (t) => {
  const steps = driver.plan(of(), of({ sshPort: 2222 }), runtime)
  const judged = steps.find((step) => step.kind === 'run' && step.expect !== undefined)
  t.match(judged, { expect: { prefix: 'port ', lines: ['port 2222'] }, why: /remove every other "Port" line/ })
  const acts = steps.findIndex(({ kind }) => kind === 'unit')
  t.ok(acts > steps.indexOf(judged as Step))
  t.ok(steps.findLastIndex(({ kind }) => kind === 'check') < acts)
  t.end()
})

t.test('the cost of a change', (t) => {
  type Side = Partial<UserInterface> | 'of the API alone' | undefined
  const unsaid = 'of the API alone'
  const effect = (before: Side, after: Side, id = NODE) => {
    const side = (more: Side) => {
      if (more === unsaid) return { id, ...API }
      return more && record({ id, ...more })
    }
    const change = { section: 'userInterfaces', id, before: side(before), after: side(after) } as const
    return driver.effectOf(change, none, none)
  }
  t.equal(effect({}, { sshPort: 2222 }), 'reload')
  t.equal(effect({}, { sshEnabled: false }), 'restart')
  t.equal(effect(undefined, {}), 'reload')
  t.equal(effect({}, undefined), 'reload')
  t.equal(effect({ sshEnabled: false }, {}), 'reload')
  t.equal(effect({}, { apiPort: 1 }), undefined)
  t.equal(effect({ sshEnabled: false }, { sshEnabled: false, sshPort: 1 }), undefined)
  t.equal(effect(undefined, unsaid), undefined, 'a record without sshd')
  t.equal(effect(unsaid, {}), 'reload')
  t.equal(effect({}, unsaid), 'reload', 'as found')
  t.equal(effect({}, { sshPort: 2222 }, 'node-2'), undefined)
  const route = { section: 'groups', id: NODE, before: undefined, after: undefined } as const
  t.equal(driver.effectOf(route, none, none), undefined)
  t.end()
})

t.test('a refusal names the field', (t) => {
  const [problem, ...more] = driver.diagnose('[ALERT] : sshd: cannot bind socket (in use) for [0.0.0.0:80]', of())
  t.strictSame(more, [])
  t.match(problem, {
    section: 'userInterfaces',
    id: NODE,
    field: 'sshPort',
    message: /^sshd: cannot bind socket \(in use\)/,
  })
  t.match(driver.diagnose('', none), [{ message: 'sshd refused its settings and gave no reason' }])
  t.end()
})

t.test('after a failure the file is back before sshd reads its settings again', async (t) => {
  const host = new RecordingHost()
  await host.replaceFile(FRAGMENT, 'Port 22\n', 0o644)
  host.takeJournal()
  const broken: Step = { kind: 'run', why: 'another program', timeout_ms: 1, argv: ['broken'], undo: 'irreversible' }
  const run = host.run.bind(host)
  host.run = async (argv) => (argv[0] === 'broken' ? { exitCode: 1, output: '' } : run(argv))
  for (const after of [of({ sshPort: 2222 }), none]) {
    const result = await executePlan(host, [...driver.plan(of(), after, runtime), broken])
    t.match(result, { ok: false, undone: true })
    t.equal(await host.readFile(FRAGMENT), 'Port 22\n')
    const journal = host.takeJournal()
    const last = (isIt: (entry: (typeof journal)[number]) => boolean) => journal.findLastIndex(isIt)
    const restored = last(({ verb }) => verb === 'replaceFile')
    const resumed = last(
      ({ verb, ...entry }) => verb === 'unit' || ('argv' in entry && entry.argv.join().includes('reload')),
    )
    const setting = last(({ verb }) => verb === 'setting')
    t.ok(setting < restored && restored < resumed, `${setting} < ${restored} < ${resumed}`)
  }
})

/** A machine as it was found, with its state of sshd. */
async function machine(found: 'enabled' | 'disabled') {
  const memory = new KeyValueMemory()
  await memory.set('unitEnabled ssh', found)
  const host = new RecordingHost({ memory })
  const state = async () => `${await memory.get('unitEnabled ssh')}: ${(await host.readFile(FRAGMENT)) ?? 'no file'}`
  return { host, state }
}
const CONFIGURATIONS = [
  none,
  apiOnly,
  onAsFound,
  of(),
  of({ sshPort: 2222 }),
  of({ sshEnabled: false }),
  of({ apiPort: 8443, sshPort: 2200 }),
]

t.test('whatever came before, the final state is the same', async (t) => {
  for (const found of ['enabled', 'disabled'] as const) {
    for (const end of CONFIGURATIONS) {
      const once = await machine(found)
      await executePlan(once.host, driver.plan(none, end, runtime))
      for (const before of CONFIGURATIONS) {
        for (const earlier of CONFIGURATIONS) {
          const { host, state } = await machine(found)
          const path = [none, earlier, before, end]
          for (const [i, desired] of path.entries()) {
            if (i > 0) await executePlan(host, driver.plan(path[i - 1], desired, runtime))
          }
          t.equal(await state(), await once.state())
        }
      }
    }
  }
})

t.test('killed before any step: the running state is restored', async (t) => {
  for (const found of ['enabled', 'disabled'] as const) {
    for (const running of CONFIGURATIONS) {
      for (const attempted of CONFIGURATIONS) {
        const steps = driver.plan(running, attempted, runtime)
        for (let killed = 0; killed <= steps.length; killed += 1) {
          const { host, state } = await machine(found)
          await executePlan(host, driver.plan(none, running, runtime))
          const before = await state()
          const beforeStep = (index: number) => {
            if (index === killed) throw new Error('killed')
          }
          await t.rejects(executePlan(host, steps, { beforeStep }))
          const back = driver.plan(attempted, running, { atLeast: 'reload' })
          const again = back.length > 0 ? back : driver.plan(undefined, running, { atLeast: 'reload' })
          t.match(await executePlan(host, again), { ok: true })
          t.equal(await state(), before, `${steps.length} steps, killed before ${killed}`)
        }
      }
    }
  }
})
