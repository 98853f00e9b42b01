import t from 'tap'
import type { Step } from '../../src/drivers/driver.ts'
import { writtenHere } from '../../src/drivers/fragment.ts'
import { executePlan } from '../../workers/executor.ts'
import { RecordingHost } from '../../workers/host/recording-host.ts'

const path = '/etc/chrony/chrony.conf'
const basics = { why: 'test', timeout_ms: 1000 }
const ours = writtenHere(['server 192.0.2.1'])
const write: Step = {
  ...basics,
  kind: 'replaceFile',
  path,
  content: ours,
  mode: 0o644,
  checked: false,
  keepsFound: true,
}
const giveBack: Step = { ...basics, kind: 'removeFile', path, givesBack: true }

t.test('an existing file is saved once, and restored', async (t) => {
  const host = new RecordingHost()
  await host.replaceFile(path, 'pool debian\n', 0o644)
  await executePlan(host, [write])
  await executePlan(host, [{ ...write, content: `${ours}#2\n` }])
  t.equal(await host.readFile(path), `${ours}#2\n`)
  await executePlan(host, [giveBack])
  t.equal(await host.readFile(path), 'pool debian\n')
  await executePlan(host, [giveBack])
  t.equal(await host.readFile(path), 'pool debian\n', 'a file that is not ours stays')
})

t.test('an existing file is copied once, and never one of ours', async (t) => {
  const host = new RecordingHost()
  const foundCopy = '/state/copy'
  const copying: Step = { ...basics, kind: 'replaceFile', path, content: ours, mode: 0o644, checked: false, foundCopy }
  await executePlan(host, [copying])
  await executePlan(host, [copying])
  t.equal(await host.readFile(foundCopy), undefined, 'there was none, and then it was ours')
  for (const found of ['pool debian\n', 'pool another\n']) {
    await host.replaceFile(path, found, 0o644)
    await executePlan(host, [copying])
  }
  t.equal(await host.readFile(foundCopy), 'pool debian\n', 'the first one stays')
  t.match(
    host.journal.find((entry) => 'path' in entry && entry.path === foundCopy),
    { verb: 'replaceFile', mode: 0o600 },
    'for no other user',
  )
})

t.test('where there was none, ours is deleted', async (t) => {
  const host = new RecordingHost()
  await executePlan(host, [write])
  await executePlan(host, [giveBack])
  t.equal(await host.readFile(path), undefined)
})

t.test('remains of a kill are deleted with the file, also where there is none', async (t) => {
  for (const isThere of [true, false]) {
    const host = new RecordingHost()
    if (isThere) await host.replaceFile(path, ours, 0o644)
    const left = ['.new', '.candidate', '.candidate.new'].map((end) => `${path}${end}`)
    for (const name of left) await host.replaceFile(name, 'a secret', 0o600)
    await executePlan(host, [{ ...basics, kind: 'removeFile', path }])
    for (const name of [path, ...left]) t.equal(await host.readFile(name), undefined, name)
  }
})

t.test('a later failure restores the original', async (t) => {
  const host = new RecordingHost({ answerRun: () => ({ exitCode: 1, output: 'no' }) })
  await host.replaceFile(path, ours, 0o644)
  const failing: Step = { ...basics, kind: 'run', argv: ['x'], undo: [] }
  t.match(await executePlan(host, [giveBack, failing]), { ok: false, undone: true })
  t.equal(await host.readFile(path), ours)
})

const FOUND = `file ${path}`
const refused: Step = { ...basics, kind: 'run', argv: ['x'], undo: [] }

t.test('the original stored by a failed plan is forgotten, and so is a restored one', async (t) => {
  const host = new RecordingHost({ answerRun: () => ({ exitCode: 1, output: 'no' }) })
  await host.replaceFile(path, 'first\n', 0o644)
  t.match(await executePlan(host, [write, refused]), { ok: false, undone: true })
  t.equal(await host.found.get(FOUND), undefined)
  await executePlan(host, [write])
  t.match(await executePlan(host, [giveBack, refused]), { ok: false, undone: true })
  t.equal(await host.found.get(FOUND), 'first\n', 'nothing was restored')
  await executePlan(host, [giveBack])
  t.equal(await host.readFile(path), 'first\n')
  t.equal(await host.found.get(FOUND), undefined)
})

t.test('a file that its owner has replaced or removed is not restored later', async (t) => {
  for (const owners of ['second\n', undefined]) {
    const host = new RecordingHost()
    await host.replaceFile(path, 'first\n', 0o644)
    await executePlan(host, [write])
    if (owners === undefined) await host.removeFile(path)
    else await host.replaceFile(path, owners, 0o644)
    await executePlan(host, [giveBack])
    t.equal(await host.readFile(path), owners)
    t.equal(await host.found.get(FOUND), undefined)
  }
})

const BESIDE = [
  { path: '/certs/a.pem', content: 'new a' },
  { path: '/certs/b.pem', content: 'b' },
]
const judged: Step = {
  ...basics,
  kind: 'check',
  path: '/x.cfg',
  content: 'names a and b',
  mode: 0o600,
  argv: ['judge'],
  beside: BESIDE,
}
const keepOnly: Step = { ...basics, kind: 'keepOnly', folder: '/certs', names: ['a.pem', 'b.pem'] }
const certificates = async (answerRun = () => ({ exitCode: 0, output: '' })) => {
  const host = new RecordingHost({ answerRun })
  for (const [name, content] of Object.entries({ 'a.pem': 'old a', 'b.pem': 'b', 'gone.pem': 'key' })) {
    await host.replaceFile(`/certs/${name}`, content, 0o600)
  }
  host.takeJournal()
  return host
}
const contents = (host: RecordingHost) =>
  Promise.all(['a', 'b', 'gone'].map((name) => host.readFile(`/certs/${name}.pem`)))

t.test('files beside a checked one are written before the check, and only those that differ', async (t) => {
  const host = await certificates()
  t.match(await executePlan(host, [judged]), { ok: true })
  t.match(host.journal, [{ path: '/certs/a.pem', mode: 0o600 }, { path: '/x.cfg.candidate' }, { verb: 'run' }])
  t.strictSame(await contents(host), ['new a', 'b', 'key'])
})

t.test('files that a refused check wrote beside its own are reverted', async (t) => {
  const host = await certificates(() => ({ exitCode: 1, output: 'no' }))
  t.match(await executePlan(host, [judged]), { ok: false, undone: true })
  t.strictSame(await contents(host), ['old a', 'b', 'key'])
})

t.test('a folder of ours keeps only the named files; a later failure restores the others', async (t) => {
  const host = await certificates(() => ({ exitCode: 1, output: 'no' }))
  t.match(await executePlan(host, [keepOnly, { ...basics, kind: 'run', argv: ['x'], undo: [] }]), { undone: true })
  t.strictSame(await contents(host), ['old a', 'b', 'key'])
  t.match(await executePlan(host, [keepOnly]), { ok: true })
  t.strictSame(await contents(host), ['old a', 'b', undefined])
})

t.test('small files hold their values; unchanged ones are not written, and a later failure undoes', async (t) => {
  const folder = '/run/weights'
  const host = new RecordingHost({ answerRun: () => ({ exitCode: 1, output: 'broken' }) })
  const values = (files: Readonly<Record<string, string>>, keepsOnly = false, found = {}): Step => {
    const maps = { values: Object.entries(files), ifThere: Object.entries<string>(found) }
    return { ...basics, kind: 'values', folder, ...maps, keepsOnly }
  }
  t.match(await executePlan(host, [values({ a: '1\n', b: '2\n' })]), { ok: true })
  const written = host.journal.length
  t.match(await executePlan(host, [values({ a: '1\n' })]), { ok: true })
  t.equal(host.journal.length, written)
  const broken: Step = { ...basics, kind: 'run', argv: ['broken'], undo: [] }
  t.match(await executePlan(host, [values({ a: '9\n', c: '3\n' }, true), broken]), { ok: false, undone: true })
  t.same((await host.listFiles(folder)).toSorted(), ['a', 'b'])
  t.equal(await host.readFile(`${folder}/a`), '1\n')
  t.match(await executePlan(host, [values({}, false, { b: '7\n', d: '4\n' })]), { ok: true })
  t.equal(await host.readFile(`${folder}/b`), '7\n')
  t.equal(await host.readFile(`${folder}/d`), undefined, 'a missing one is not created')
  t.match(await executePlan(host, [values({ c: '3\n' }, true)]), { ok: true })
  t.same(await host.listFiles(folder), ['c'])
})

t.test('a program that is restored can be executed again', async (t) => {
  const host = new RecordingHost({ answerRun: () => ({ exitCode: 1, output: '' }) })
  await host.replaceFile('/checks/gone', '#!/bin/sh', 0o755)
  const steps: Step[] = [
    { ...basics, kind: 'keepOnly', folder: '/checks', names: [] },
    { ...basics, kind: 'run', argv: ['x'], undo: [] },
  ]
  host.takeJournal()
  t.match(await executePlan(host, steps), { undone: true })
  t.match(
    host.journal.find((entry) => entry.verb === 'replaceFile'),
    { path: '/checks/gone', mode: 0o755 },
  )
})

t.test('a removed program is restored as one', async (t) => {
  const host = new RecordingHost({ answerRun: () => ({ exitCode: 1, output: '' }) })
  await host.replaceFile('/etc/keepalived/fulcrum-settle', '#!/bin/sh', 0o755)
  const steps: Step[] = [
    { ...basics, kind: 'removeFile', path: '/etc/keepalived/fulcrum-settle' },
    { ...basics, kind: 'run', argv: ['x'], undo: [] },
  ]
  host.takeJournal()
  t.match(await executePlan(host, steps), { undone: true })
  t.match(host.journal.at(-1), { verb: 'replaceFile', content: '#!/bin/sh', mode: 0o755 })
})

t.test('for a missing program nothing is written', async (t) => {
  const host = new RecordingHost()
  host.missingProgram = async () => ({ exitCode: 127, output: 'judge is not installed' }) as never
  t.match(await executePlan(host, [judged]), { ok: false, kind: 'check', missing: true, output: /is not installed/ })
  t.same(host.journal, [])
})

t.test('where a folder is closed to the unit, the error says how to open it', async (t) => {
  const host = new RecordingHost()
  host.replaceFile = () => Promise.reject(Object.assign(new Error('read-only'), { code: 'EROFS' }))
  t.match(await executePlan(host, [judged]), { ok: false, kind: 'replaceFile', output: /systemctl restart fulcrum/ })
})

t.test('a file that could not be restored unchanged is not taken over', async (t) => {
  const host = new RecordingHost()
  await host.replaceFile(path, 'sysLocation Z\uFFFDrich', 0o644)
  const replacing: Step = { ...basics, kind: 'replaceFile', path, content: ours, mode: 0o644, checked: false }
  t.match(await executePlan(host, [{ ...replacing, keepsFound: true }]), { ok: false, output: /is not in UTF-8/ })
  t.equal(await host.readFile(path), 'sysLocation Z\uFFFDrich')
})

t.test('a command reads the checked candidate, or the file in place when they are equal', async (t) => {
  const ran: (readonly string[])[] = []
  const host = new RecordingHost({
    answerRun: (argv) => {
      ran.push(argv)
      return { exitCode: 0, output: '' }
    },
  })
  const file = { ...basics, path, content: ours, mode: 0o644 }
  const plan: readonly Step[] = [
    { ...file, kind: 'check', argv: ['judge', `${path}.candidate`] },
    { ...basics, kind: 'run', argv: ['read', `${path}.candidate`], undo: 'irreversible' },
    { ...file, kind: 'replaceFile', checked: true },
  ]
  t.match(await executePlan(host, plan), { ok: true })
  t.match(await executePlan(host, plan), { ok: true })
  t.strictSame(ran, [
    ['judge', `${path}.candidate`],
    ['read', `${path}.candidate`],
    ['judge', path],
    ['read', path],
  ])
})
