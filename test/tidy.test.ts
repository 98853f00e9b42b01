import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/** Conventions that lint cannot see. Each list of exceptions below is counted: it may shrink, never grow. */

/** Sources without their own test. */
const UNTESTED: readonly string[] = [
  'src/appliance/appliance.ts',
  'src/daemon/daemon.ts',
  'src/main.ts',
  'src/resources/demo.ts',
  'src/resources/documents.ts',
  'src/resources/index.ts',
  'src/resources/statistics/l7-stats.ts',
]
const UNTESTED_MAX = 7
const IN_BROWSER = /^src\/ui\//
/** Smaller ones are tested through their callers. */
const LINES_TESTED_MIN = 40

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
const FIXTURES = /^test\/fixtures\/[^/]+\//
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

/** Returns whether nothing of a file is left at runtime, so that there is nothing to test. */
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

t.test('every source that is not small has a test at the mirrored path', (t) => {
  // The code that draws and sends requests in a browser is tested there: test/system/admin-page-*.test.ts.
  const isTested = (file: string) => testsOf(file).some((test) => existsSync(join(root, test)))
  const untested = sources.filter(
    (file) =>
      !IN_BROWSER.test(file) &&
      !isTested(file) &&
      !holdsTypesOnly(file) &&
      (lineCount(file) >= LINES_TESTED_MIN || UNTESTED.includes(file)),
  )
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

t.test('files do not exceed their length', (t) => {
  for (const [pattern, lines] of LINES_MAX) {
    t.strictSame(
      files.filter((file) => pattern.test(file) && lineCount(file) > lines),
      [],
      String(pattern),
    )
  }
  t.end()
})

t.test('no file names a machine, a tool of one developer or unfinished work', (t) => {
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

const documents = files.filter((file) => file.endsWith('.md') && file !== 'docs/endpoints.md')

t.test('documents break at 120 columns, except tables and code', (t) => {
  for (const file of documents) {
    const prose = read(file).replaceAll(/^ *```[^]*?^ *```/gm, '')
    const long = prose.split('\n').filter((line) => line.length > 120 && !line.startsWith('|') && / .* /.test(line))
    t.strictSame(long, [], file)
  }
  t.end()
})

t.test('lines of a paragraph in a document are filled', (t) => {
  // Text in backticks stays on one line.
  const word = /^\s*((?:`[^`]{1,58}`|\S)+)/
  const isProse = (line: string) => line.trim() !== '' && !/^(#|\s*[|<]|>|!\[|\[[^\]]+\]: )/.test(line)
  for (const file of documents) {
    const prose = read(file).replaceAll(/^ *```[^]*?^ *```/gm, '')
    const lines = prose.split('\n')
    const short = lines.filter((line, index) => {
      const next = lines[index + 1] ?? ''
      if (!isProse(line) || !isProse(next) || /^\s*([-*]|\d+\.)\s/.test(next) || line.endsWith('  ')) return false
      return line.length + 1 + (word.exec(next)?.[1]?.length ?? 0) <= 120
    })
    t.strictSame(short, [], file)
  }
  t.end()
})

t.test('comments break at 120 columns', (t) => {
  for (const file of files.filter((each) => CODE.test(each) && !FIXTURES.test(each) && /\.(ts|mjs)$/.test(each))) {
    const comments = read(file).match(/^ *(\/\/|\/?\*).*$/gm) ?? []
    const long = comments.filter((line) => line.length > 120 && !line.includes('oxlint-disable'))
    if (long.length > 0) t.strictSame(long, [], file)
  }
  t.pass('all but directives')
  t.end()
})

t.test('documents name files that exist', (t) => {
  const named = /(?<![\w./-])(?:src|test|workers|storage|bench|systemd)\/[\w./-]*\w\.(?:ts|mjs|sh|md)\b/g
  for (const file of documents.filter((each) => each !== 'CHANGELOG.md')) {
    const found = read(file).match(named) ?? []
    t.strictSame(
      found.filter((name) => !existsSync(join(root, name))),
      [],
      file,
    )
  }
  t.end()
})

t.test('a path that documents give as the test of a fault exists', (t) => {
  const named = /(?<![\w./-])test\/[\w/-]+(?![\w./-])/g
  for (const file of documents.filter((each) => each.startsWith('docs/')))
    for (const name of read(file).match(named) ?? [])
      t.ok(
        [name, `${name}.test.ts`].some((one) => existsSync(join(root, one))),
        `${file}: ${name}`,
      )
  t.end()
})

t.test('no test is focused', (t) => {
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
    names.filter((name) => !/^\d{2,3}-[a-z0-9-]+\.md$/.test(name)),
    [],
  )
  const untitled = names.filter((name) => !read(`docs/decisions/${name}`).startsWith(`# ${Number.parseInt(name)}. `))
  t.strictSame(untitled, [], 'the title begins with the number')
  t.equal(new Set(names.map((name) => name.split('-')[0])).size, names.length, 'no number twice')
  t.end()
})

t.test('lint refuses to read the environment and to end the process outside main.ts', async (t) => {
  const cases: readonly (readonly [file: string, line: string, isRefused: boolean])[] = [
    ['src/a.ts', `export const x = process.env['X']`, true],
    ['src/main.ts', `export const x = () => process.exit(Number(process.env['X']))`, false],
    ['src/b.ts', `export const x = () => process.exit(1)`, true],
  ]
  // Outside of the project: lint does not read files that git ignores.
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-boundaries-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  cpSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
  for (const [file, line] of cases) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    writeFileSync(join(folder, file), `${line}\n`)
  }
  const bin = join(root, 'node_modules/.bin')
  const output = await new Promise<string>((resolve) => {
    // A clean environment: the test runner's own loaders do not work in oxlint.
    const argv = ['-i', `PATH=${bin}:/usr/bin:/bin`, 'oxlint', '--format=unix', '.']
    execFile('/usr/bin/env', argv, { cwd: folder }, (_, stdout) => resolve(stdout))
  })
  const refused = new Set(
    output.split('\n').flatMap((line) => {
      const found = /^([^:]+):\d+:\d+: .*(process\.env|process\.exit)/.exec(line)
      return found?.[1] === undefined ? [] : [found[1]]
    }),
  )
  for (const [file, line, isRefused] of cases) t.equal(refused.has(file), isRefused, `${file}: ${line}`)
})
