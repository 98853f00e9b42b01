import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/** Conventions that lint cannot see. Each list of exceptions below is counted: it may shrink, never grow. */

/** Sources without a test of their own. */
const UNTESTED: readonly string[] = [
  'src/appliance.ts',
  'src/daemon.ts',
  'src/demo.ts',
  'src/main.ts',
  'src/model/real-server.ts',
  'src/request-context.ts',
  'src/resources/demo.ts',
  'src/resources/documents.ts',
  'src/resources/index.ts',
  'src/resources/l7-stats.ts',
]
const UNTESTED_MAX = 10

/** Sources above the soft limit. */
const LONG: readonly string[] = []
const LONG_MAX = 0

const LINES_SOFT_MAX = 250
const LINES_MAX: readonly (readonly [file: RegExp, lines: number])[] = [
  [/^(src|workers|storage)\/.*\.ts$/, 400],
  [/^CONTRIBUTING\.md$/, 120],
  [/^ARCHITECTURE\.md$/, 200],
  [/^docs\/decisions\/.*\.md$/, 60],
]
const TOP_LEVEL =
  /^(src|workers|storage|bench|test|systemd|docs|LICENSE|\..+|[^/]+\.md|(package|package-lock|tsconfig)\.json)$/
const NOT_OURS = new Set(['node_modules', '.git', '.tap', '.fulcrum', '.cache', 'coverage'])
const CODE = /^(src|workers|storage|bench|test)\//
const FIXTURES = /^test\/fixtures\//
const BANNED_NAME = /(^|-)(utils?|helpers?|common|misc|managers?|types|constants)(-|\.|$)/
const KEBAB_FILE = /^[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.ts$/
const KEBAB_FOLDER = /^[a-z0-9]+(-[a-z0-9]+)*$/
/** Written mirrored, or this file would be found itself. */
const mirrored = (word: string) => word.split('').toReversed().join('')
const FORBIDDEN = [
  'edualc',
  'ciporhtna',
  'tpgtahc',
  'ianepo',
  'tolipoc',
  'inimeg',
  'ledom egaugnal',
  'tnatsissa ia',
  'tnega ia',
  'detareneg-ia',
  'yb-derohtua-oc',
  'ODOT',
  'EMXIF',
  'KCAH',
].map((word) => new RegExp(String.raw`\b${mirrored(word)}\b`, /[A-Z]/.test(word) ? '' : 'i'))
const MACHINE_PATHS = ['krow', 'emoh', 'toor', 'sresU'].map(
  (word) => new RegExp(String.raw`(?<![\w.$}/-])/${mirrored(word)}/`),
)

const root = fileURLToPath(new URL('..', import.meta.url))

function listFiles(folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => !NOT_OURS.has(entry.name) && !entry.name.endsWith('.log'))
    .flatMap((entry) => (entry.isDirectory() ? listFiles(join(folder, entry.name)) : [join(folder, entry.name)]))
}

const files = listFiles()
const sources = files.filter((file) => /^(src|workers|storage)\/.*\.ts$/.test(file))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const lineCount = (file: string) => read(file).trimEnd().split('\n').length

/** Nothing is left of it at run time, so there is nothing to test. */
function holdsTypesOnly(file: string): boolean {
  const code = stripTypeScriptTypes(read(file)).replaceAll(/\/\*[^]*?\*\/|\/\/.*$|^import .*$|^export \{\}$/gm, '')
  return code.trim() === ''
}

function testsOf(file: string): string[] {
  const stem = file.replace(/\.ts$/, '')
  const stems = basename(file) === 'index.ts' ? [stem, dirname(file)] : [stem]
  return stems.map((name) => `test/${name}.test.ts`)
}

const compare = (found: readonly string[], listed: readonly string[]) => ({
  missing: found.filter((file) => !listed.includes(file)),
  done: listed.filter((file) => !found.includes(file)),
})

t.test('the top level holds only what belongs there', (t) => {
  const strangers = [...new Set(files.map((file) => file.split('/')[0] ?? ''))].filter((name) => !TOP_LEVEL.test(name))
  t.strictSame(strangers, [])
  t.end()
})

t.test('names say what is inside, in kebab-case', (t) => {
  const code = files.filter((file) => CODE.test(file) && !FIXTURES.test(file))
  t.strictSame(
    code.filter((file) => BANNED_NAME.test(basename(file))),
    [],
    'no drawers for odds and ends',
  )
  t.strictSame(
    code.filter((file) => file.endsWith('.ts') && !KEBAB_FILE.test(basename(file))),
    [],
  )
  const folders = new Set(code.flatMap((file) => dirname(file).split('/')))
  t.strictSame(
    [...folders].filter((name) => !KEBAB_FOLDER.test(name)),
    [],
  )
  t.end()
})

t.test('every source has a test at the mirrored path', (t) => {
  const isTested = (file: string) => testsOf(file).some((test) => existsSync(join(root, test)))
  const untested = sources.filter((file) => !isTested(file) && !holdsTypesOnly(file))
  const { missing, done } = compare(untested, UNTESTED)
  t.strictSame(missing, [], 'needs a test')
  t.strictSame(done, [], 'has its test now (or is gone): take it off the list and lower the maximum')
  t.equal(UNTESTED.length, UNTESTED_MAX, 'the list only shrinks')
  t.end()
})

t.test('every test mirrors a source', (t) => {
  const mirrors = files.filter((file) => /^test\/(src|workers|storage)\/.*\.test\.ts$/.test(file))
  const expected = new Set(sources.flatMap(testsOf))
  t.strictSame(
    mirrors.filter((file) => !expected.has(file)),
    [],
  )
  t.end()
})

t.test('files keep to their length', (t) => {
  for (const [pattern, lines] of LINES_MAX) {
    t.strictSame(
      files.filter((file) => pattern.test(file) && lineCount(file) > lines),
      [],
      String(pattern),
    )
  }
  const long = sources.filter((file) => lineCount(file) > LINES_SOFT_MAX)
  const { missing, done } = compare(long, LONG)
  t.strictSame(missing, [], 'split it by concept')
  t.strictSame(done, [], 'short now: take it off the list and lower the maximum')
  t.equal(LONG.length, LONG_MAX, 'the list only shrinks')
  t.end()
})

t.test('nothing names a machine, a tool of one developer or unfinished work', (t) => {
  for (const file of files) {
    if (file === 'package-lock.json' || /\.(png|svg|pem|der|pfx|bin)$/.test(file)) continue
    const text = read(file)
    for (const pattern of [...FORBIDDEN, ...MACHINE_PATHS]) {
      const found = pattern.exec(text)
      if (found !== null) t.fail(`${file}: ${found[0]}`)
    }
  }
  t.pass(`${files.length} files`)
  t.end()
})

t.test('tests run whole', (t) => {
  const focus = /\bt\.only\(|\bonly: true\b|\bdebugger\b/
  t.strictSame(
    files.filter((file) => file.startsWith('test/') && file !== 'test/tidy.test.ts' && focus.test(read(file))),
    [],
  )
  t.end()
})

t.test('decisions are numbered once and named', (t) => {
  const names = files.filter((file) => file.startsWith('docs/decisions/')).map((file) => basename(file))
  t.strictSame(
    names.filter((name) => !/^\d\d-[a-z0-9-]+\.md$/.test(name)),
    [],
  )
  t.equal(new Set(names.map((name) => name.slice(0, 2))).size, names.length, 'no number twice')
  t.end()
})

t.test('lint refuses imports that cross a boundary', async (t) => {
  const cases: readonly (readonly [file: string, line: string, isRefused: boolean])[] = [
    ['src/model/a.ts', `import { x } from '../config/x.ts'`, true],
    ['src/model/b.ts', `import { Type as x } from 'typebox'`, false],
    ['storage/config/a.ts', `import { x } from '../../src/errors.ts'`, true],
    ['storage/config/b.ts', `import { open as x } from 'lmdb'`, false],
    ['src/config/a.ts', `import { open as x } from 'lmdb'`, true],
    ['src/config/b.ts', `import { x } from '../drivers/haproxy/render.ts'`, true],
    ['src/config/c.ts', `import { x } from '../drivers/index.ts'`, false],
    ['src/config/d.ts', `import { x } from '../resources/index.ts'`, true],
    ['src/drivers/haproxy/a.ts', `import { readFileSync as x } from 'node:fs'`, true],
    ['src/drivers/haproxy/b.ts', `import { x } from '../../config/x.ts'`, true],
    ['src/drivers/haproxy/c.ts', `import { x } from '../../model/x.ts'`, false],
    ['src/auth/a.ts', `import { x } from '../http/x.ts'`, true],
    ['src/stats/a.ts', `import { x } from '../../workers/archive/x.ts'`, true],
    ['src/stats/b.ts', `import type { x } from '../../workers/archive/x.ts'`, false],
    ['src/stats/c.ts', `import { Worker as x } from 'node:worker_threads'`, false],
    ['src/api/a.ts', `import { x } from '../config/x.ts'`, true],
    ['src/resources/a.ts', `import { x } from './b.ts'`, true],
    ['src/resources/b.ts', `import { x } from '../../storage/config/x.ts'`, true],
    ['src/resources/c.ts', `import { x } from '../api/endpoint.ts'`, false],
    ['src/resources/services/a.ts', `import { x } from '../b.ts'`, true],
    ['src/resources/services/b.ts', `import { x } from './c.ts'`, false],
    ['src/resources/index.ts', `import { x } from './b.ts'`, false],
    ['src/http/a.ts', `import { x } from '../drivers/x.ts'`, true],
    ['src/http/b.ts', `import { x } from '../resources/services.ts'`, true],
    ['src/http/c.ts', `import { x } from '../resources/index.ts'`, false],
    ['src/http/d.ts', `import { App as x } from 'uWebSockets.js'`, false],
    ['src/appliance.ts', `import { App as x } from 'uWebSockets.js'`, true],
    ['src/worker-pool.ts', `import { Piscina as x } from 'piscina'`, false],
    ['src/appliance2.ts', `import { Piscina as x } from 'piscina'`, true],
    ['workers/a.ts', `import { x } from '../src/config/x.ts'`, true],
    ['workers/b.ts', `import { x } from '../storage/config/x.ts'`, true],
    ['workers/c.ts', `import { x } from '../src/drivers/haproxy/parse.ts'`, false],
    ['workers/executor.ts', `import { spawn as x } from 'node:child_process'`, true],
    ['workers/host/linux-host.ts', `import { spawn as x } from 'node:child_process'`, false],
    ['src/a.ts', `export const x = process.env['X']`, true],
    ['src/main.ts', `export const x = () => process.exit(Number(process.env['X']))`, false],
    ['src/b.ts', `export const x = () => process.exit(1)`, true],
  ]
  // Outside the project: what git ignores, lint does not read.
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-boundaries-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  cpSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
  for (const [file, line] of cases) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    writeFileSync(join(folder, file), `${line}\n`)
  }
  const bin = join(root, 'node_modules/.bin')
  const output = await new Promise<string>((resolve) => {
    // A clean environment: the test runner's own loaders do not go with oxlint's.
    const argv = ['-i', `PATH=${bin}:/usr/bin:/bin`, 'oxlint', '--format=unix', '.']
    execFile('/usr/bin/env', argv, { cwd: folder }, (_, stdout) => resolve(stdout))
  })
  const refused = new Set(
    output.split('\n').flatMap((line) => {
      const found = /^([^:]+):\d+:\d+: .*(restricted|process\.env|process\.exit)/.exec(line)
      return found?.[1] === undefined ? [] : [found[1]]
    }),
  )
  for (const [file, line, isRefused] of cases) t.equal(refused.has(file), isRefused, `${file}: ${line}`)
})
