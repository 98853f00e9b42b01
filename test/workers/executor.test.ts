import t from 'tap'
import type { Step } from '../../src/drivers/driver.ts'
import type { RunResult, UnitName, UnitState, UnitVerb } from '../../src/drivers/host.ts'
import { checkPlan, executePlan } from '../../workers/executor.ts'
import { type JournalEntry, RecordingHost } from '../../workers/host/recording-host.ts'

const OK: RunResult = { exitCode: 0, output: '' }
const REFUSED: RunResult = { exitCode: 1, output: 'refused' }
const basics = { why: 'test', timeout_ms: 1000 }

/** A machine on which one action fails. */
class FailingHost extends RecordingHost {
  failing: { readonly verb: JournalEntry['verb']; readonly about: string; readonly result?: RunResult } | undefined

  #fails(verb: JournalEntry['verb'], about: string): RunResult | undefined {
    if (this.failing?.verb !== verb || this.failing.about !== about) return undefined
    return this.failing.result ?? REFUSED
  }
  override async run(argv: readonly string[]): Promise<RunResult> {
    await super.run(argv)
    return this.#fails('run', argv.join(' ')) ?? OK
  }
  override async unit(name: UnitName, verb: UnitVerb): Promise<RunResult> {
    await super.unit(name, verb)
    return this.#fails('unit', verb) ?? OK
  }
  override async replaceFile(path: string, content: string, mode: number): Promise<void> {
    if (this.#fails('replaceFile', path) !== undefined) throw new Error(`no space for ${path}`)
    await super.replaceFile(path, content, mode)
  }
  override async socket(path: string, request: string): Promise<string> {
    await super.socket(path, request)
    if (this.#fails('socket', request) !== undefined) return 'No such server.'
    return request === 'show' ? '1\n# name weight\nr1 7\nr2 8\n' : ''
  }
}

const check: Step = {
  ...basics,
  kind: 'check',
  path: '/a',
  content: 'new a',
  mode: 0o600,
  argv: ['judge', '/a.candidate'],
}
const swap: Step = { ...basics, kind: 'replaceFile', path: '/a', content: 'new a', mode: 0o600, checked: true }
const write: Step = { ...basics, kind: 'replaceFile', path: '/b', content: 'new b', mode: 0o644, checked: false }
const remove: Step = { ...basics, kind: 'removeFile', path: '/c' }
const run: Step = { ...basics, kind: 'run', argv: ['do'], undo: ['undo'] }
const socket: Step = {
  ...basics,
  kind: 'socket',
  path: '/s',
  commands: [{ request: 'set', expect: ['', 'changed *'] }],
  readBack: [{ request: 'show', rows: [{ where: { name: 'r1' }, columns: { weight: ['7'] } }] }],
  undo: [{ request: 'unset', expect: [''] }],
}
const unit: Step = {
  ...basics,
  kind: 'unit',
  unit: 'layer7proxy',
  verb: 'restart',
  undo: 'restart',
  whenUnchanged: 'act',
}
const reload: Step = { ...unit, verb: 'reload', undo: 'reload' }
const steps = [check, swap, write, remove, run, socket, unit]

async function machine(): Promise<FailingHost> {
  const host = new FailingHost()
  await host.replaceFile('/a', 'old a', 0o600)
  await host.replaceFile('/c', 'old c', 0o600)
  host.takeJournal()
  return host
}
const files = async (host: RecordingHost) =>
  Promise.all(['/a', '/a.candidate', '/b', '/c'].map((path) => host.readFile(path)))
const OLD = ['old a', undefined, undefined, 'old c']
const NEW = ['new a', undefined, 'new b', undefined]

t.test('a plan is carried out in order', async (t) => {
  const host = await machine()
  t.strictSame(await executePlan(host, steps), { ok: true, done: 7, recorded: 9, warnings: [] })
  t.strictSame(await files(host), NEW)
  t.strictSame(
    host.journal.map(({ verb }) => verb),
    ['replaceFile', 'run', 'renameFile', 'replaceFile', 'removeFile', 'run', 'socket', 'socket', 'unit'],
  )
})

t.test('a failure at any step is undone', async (t) => {
  const failures = [
    { verb: 'run', about: 'judge /a.candidate' },
    undefined,
    { verb: 'replaceFile', about: '/b' },
    undefined,
    { verb: 'run', about: 'do' },
    { verb: 'socket', about: 'set' },
    { verb: 'unit', about: 'restart' },
  ] as const
  for (const [failedStep, failing] of failures.entries()) {
    if (failing === undefined) continue
    const host = await machine()
    host.failing = failing
    const result = await executePlan(host, steps)
    t.match(result, { ok: false, failedStep, kind: steps[failedStep]?.kind, why: 'test', missing: false })
    t.strictSame(await files(host), OLD, `step ${failedStep}`)
    // The restart that undoes a failed restart fails like it: that has to be reported.
    t.match(result, { undone: failing.verb !== 'unit' })
  }
})

t.test('units are reverted when the files are as before', async (t) => {
  const host = await machine()
  host.failing = { verb: 'run', about: 'do' }
  t.match(await executePlan(host, [check, swap, unit, socket, run]), { ok: false, undone: true })
  const undos = host.takeJournal().slice(-5)
  t.match(undos, [
    { verb: 'run', argv: ['undo'] },
    { verb: 'socket', request: 'unset' },
    { verb: 'replaceFile', path: '/a', content: 'old a' },
    { verb: 'removeFile', path: '/a.candidate' },
    { verb: 'unit', unitVerb: 'restart' },
  ])
})

t.test('a refused reload left the program alone; one without an end, or that ended it, did not', async (t) => {
  const reloadsAfter = async (result: RunResult, after: UnitState = 'running', before: UnitState = 'running') => {
    const host = await machine()
    const states = [before]
    host.unitState = async () => states.shift() ?? after
    host.failing = { verb: 'unit', about: 'reload', result }
    t.match(await executePlan(host, [check, swap, reload]), { ok: false, output: new RegExp(result.output) })
    t.strictSame(await files(host), OLD)
    return host.journal.filter(({ verb }) => verb === 'unit').length
  }
  t.equal(await reloadsAfter({ exitCode: 1, output: 'cannot bind' }), 1)
  t.equal(await reloadsAfter({ exitCode: 124, output: 'no end' }), 2)
  t.equal(await reloadsAfter({ exitCode: 1, output: 'address in use' }, 'failed'), 2, 'it has to be restarted')
  t.equal(await reloadsAfter({ exitCode: 1, output: 'no start' }, 'failed', 'stopped'), 1, 'it did not run before')
})

t.test('a kill at any step leaves each file old or new, and running the plan again completes it', async (t) => {
  for (let at = 0; at <= steps.length; at++) {
    const host = await machine()
    const kill = (index: number): void => {
      if (index === at) throw new Error('killed')
    }
    await t.rejects(executePlan(host, steps, { beforeStep: kill }), { message: 'killed' })
    const left = await files(host)
    for (const index of [0, 2, 3]) t.ok(left[index] === OLD[index] || left[index] === NEW[index], `killed at ${at}`)
    t.match(await executePlan(host, steps), { ok: true })
    t.strictSame(await files(host), NEW)
  }
})

t.test('checks come before any change', async (t) => {
  await t.rejects(executePlan(await machine(), [write, check]), { message: /step 1 is a check/ })
})

t.test('a check alone leaves nothing behind', async (t) => {
  const host = await machine()
  t.strictSame(await checkPlan(host, steps), { ok: true, done: 1, recorded: 0, warnings: [] })
  t.strictSame(await files(host), OLD)
  host.failing = { verb: 'run', about: 'judge /a.candidate' }
  t.match(await checkPlan(host, steps), { ok: false, failedStep: 0, kind: 'check', output: 'refused', undone: true })
  t.strictSame(await files(host), OLD)
})

t.test('a check that cannot restore a file beside its own reports that', async (t) => {
  const host = await machine()
  await host.replaceFile('/c', 'old c', 0o600)
  const replaceFile = host.replaceFile.bind(host)
  host.replaceFile = (path, content, mode) =>
    content === 'old c' ? Promise.reject(new Error('no space')) : replaceFile(path, content, mode)
  const result = await checkPlan(host, [{ ...check, beside: [{ path: '/c', content: 'new c' }] }])
  t.match(result, {
    ok: false,
    kind: 'replaceFile',
    why: 'restore the files that the check of /a wrote',
    undone: false,
  })
  t.match(result, { output: 'undo: no space' })
})

t.test('a program that is not installed is reported as missing', async (t) => {
  const host = await machine()
  host.failing = { verb: 'run', about: 'judge /a.candidate', result: { exitCode: 127, output: 'not installed' } }
  t.match(await executePlan(host, steps), { ok: false, missing: true, output: 'not installed', undone: true })
})

t.test('a candidate that could not be written is no verdict of the checker', async (t) => {
  const host = await machine()
  host.failing = { verb: 'replaceFile', about: '/a.candidate' }
  const unwritten = {
    ok: false,
    failedStep: 0,
    kind: 'replaceFile',
    why: 'write /a.candidate',
    output: 'no space for /a.candidate',
    missing: false,
    undone: true,
  }
  t.strictSame(await executePlan(host, steps), unwritten)
  t.strictSame(await checkPlan(host, steps), unwritten)
  t.strictSame(await files(host), OLD)
})

t.test('nor is a checker that was killed at its deadline or could not be started', async (t) => {
  for (const exitCode of [124, 126]) {
    const host = await machine()
    host.failing = { verb: 'run', about: 'judge /a.candidate', result: { exitCode, output: 'no verdict' } }
    t.match(await executePlan(host, steps), {
      ok: false,
      failedStep: 0,
      kind: 'run',
      output: 'no verdict',
      undone: true,
    })
    t.match(await checkPlan(host, steps), { ok: false, failedStep: 0, kind: 'run' })
  }
})

t.test('a port in use fails the check, with all others', async (t) => {
  const host = await machine()
  host.portProblem = async (_ip: string, port: number) => (port === 80 ? 'Address already in use' : undefined)
  const ports = [80, 81, 80].map((port) => ({ ip: '192.0.2.1', port, claimant: 'frontend f' }))
  t.match(await executePlan(host, [{ ...check, ports }, swap]), {
    ok: false,
    kind: 'check',
    output: /^(\[ALERT\] : frontend f: cannot bind socket \(Address already in use\) for \[192\.0\.2\.1:80\]\n?){2}$/,
    undone: true,
  })
  t.strictSame(await files(host), OLD)
})

t.test('answers of a socket are strict', async (t) => {
  const host = await machine()
  const command = (request: string, ...expect: readonly string[]): Step => ({
    ...socket,
    commands: [{ request, expect }],
  })
  t.match(await executePlan(host, [command('set', 'done')]), { ok: false, output: /^set: \(no answer\)/ })
  host.failing = { verb: 'socket', about: 'set' }
  t.match(await executePlan(host, [command('set', 'No such *')]), { ok: true }, 'an expected beginning')
  t.match(await executePlan(host, [command('set', 'No such')]), { ok: false, kind: 'socket', undone: true })
})

t.test('undo waits only a moment for a program that does not answer', async (t) => {
  const budgets: number[] = []
  const host = await machine()
  host.socket = async (_path: string, request: string, timeout_ms = 0) => {
    budgets.push(timeout_ms)
    if (request === 'unset') return ''
    await new Promise((resolve) => setTimeout(resolve, timeout_ms))
    throw new Error('no answer')
  }
  t.match(await executePlan(host, [{ ...socket, timeout_ms: 1000 }]), { ok: false, kind: 'socket', undone: true })
  t.equal(budgets.length, 2)
  t.ok((budgets[0] ?? 0) > 500)
  t.ok((budgets[1] ?? 0) <= 500)
})

t.test('a command without effect is noticed', async (t) => {
  const host = await machine()
  const rows = [{ where: { name: 'r2' }, columns: { weight: ['7'] } }]
  const result = await executePlan(host, [{ ...socket, readBack: [{ request: 'show', rows }] }])
  t.match(result, { ok: false, kind: 'socket', output: 'show: r2 has weight 8 and not 7' })
  t.match(host.journal.at(-1), { request: 'unset' })
})

t.test('an irreversible change is reported', async (t) => {
  const host = await machine()
  host.failing = { verb: 'socket', about: 'unset' }
  const failing: Step = { ...socket, commands: [{ request: 'set', expect: ['never'] }] }
  t.match(await executePlan(host, [failing]), { ok: false, undone: false, output: /undo: unset: No such server/ })
  const unrestorable = await machine()
  unrestorable.removeFile = async () => {
    throw new Error('read-only file system')
  }
  unrestorable.failing = { verb: 'run', about: 'do' }
  t.match(await executePlan(unrestorable, [write, run]), { ok: false, undone: false, output: /undo: read-only/ })
})

t.test('a unit that already runs the files on disk is left alone when the plan says so', async (t) => {
  const host = await machine()
  const adopt: readonly Step[] = [check, swap, { ...reload, whenUnchanged: 'skip' }]
  const reloads = () => host.takeJournal().filter(({ verb }) => verb === 'unit').length
  await executePlan(host, adopt)
  t.equal(reloads(), 1, 'the file changed')
  await executePlan(host, adopt)
  t.equal(reloads(), 0, 'nothing changed')
  await host.unit('layer7proxy', 'stop')
  host.takeJournal()
  await executePlan(host, adopt)
  t.equal(reloads(), 1, 'it does not run')
})

t.test('a file that a program has not read when the plan is killed is read by the next one', async (t) => {
  const host = await machine()
  const adopt: readonly Step[] = [check, swap, { ...reload, whenUnchanged: 'skip', unread: '/a.unread' }]
  const reloads = () => host.takeJournal().filter(({ verb }) => verb === 'unit').length
  const killed = (index: number) => {
    if (index === 2) throw new Error('killed')
  }
  await t.rejects(executePlan(host, adopt, { beforeStep: killed }))
  t.same([await host.readFile('/a'), reloads()], ['new a', 0])
  await executePlan(host, adopt)
  t.equal(reloads(), 1)
  await executePlan(host, adopt)
  t.equal(reloads(), 0)
  t.equal(await host.readFile('/a.unread'), undefined)

  const failing = await machine()
  failing.failing = { verb: 'unit', about: 'reload' }
  await executePlan(failing, adopt)
  t.equal(await failing.readFile('/a.unread'), undefined, 'the program continues with the restored file')
})

t.test('irreversible programs are not undone', async (t) => {
  const host = await machine()
  host.failing = { verb: 'socket', about: 'set' }
  await executePlan(host, [{ ...run, undo: 'irreversible' }, socket])
  t.strictSame(
    host.journal.filter(({ verb }) => verb === 'run'),
    [{ verb: 'run', argv: ['do'] }],
  )
})

t.test('the output of a program has to contain the expected lines, and no others like them', async (t) => {
  /** A program that really ran: a recorded one has no output to check. */
  class SpeakingHost extends RecordingHost {
    output = ''
    override get recorded(): number {
      return 0
    }
    override async run(): Promise<RunResult> {
      return { exitCode: 0, output: this.output }
    }
  }
  const host = new SpeakingHost()
  const expecting: Step = { ...run, expect: { prefix: 'port ', lines: ['port 22', 'port 80'] } }
  const says = async (output: string) => {
    host.output = output
    const result = await executePlan(host, [expecting])
    return result.ok ? 'as expected' : result.output
  }
  t.equal(await says('user root\nport 80\nport 22\nports 1'), 'as expected', 'in any order')
  t.equal(await says('port 22\nport 80\nport 22'), 'as expected', 'in any number')
  t.equal(await says('port 22'), 'expected port 22, port 80, found port 22')
  t.equal(await says('port 22\nport 80\nport 8'), 'expected port 22, port 80, found port 22, port 80, port 8')
  t.equal(await says(''), 'expected port 22, port 80, found nothing')
})
