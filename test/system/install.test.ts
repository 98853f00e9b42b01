/**
 * The packages that the first `npm start` and the first `npm test` of a clone install: with npm, from packages that are
 * files.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'

const INSTALL = fileURLToPath(new URL('../../.ci/install.mjs', import.meta.url))

function run(program: string, args: readonly string[], cwd: string) {
  const { npm_execpath: _, ...env } = process.env
  return spawnSync(program, args, { cwd, encoding: 'utf8', env: { ...env, npm_config_cache: join(cwd, '.npm') } })
}

/** A clone with one package for running and one for testing. */
function clone(test: Test): string {
  const folder = temporaryFolder(test, 'clone')
  for (const name of ['runs', 'tests']) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ name, version: '1.0.0' }))
    const { status, stderr } = run('npm', ['pack', `./${name}`], folder)
    if (status !== 0) throw new Error(stderr)
  }
  const manifest = {
    name: 'clone',
    version: '1.0.0',
    dependencies: { runs: 'file:runs-1.0.0.tgz' },
    devDependencies: { tests: 'file:tests-1.0.0.tgz' },
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  const { status, stderr } = run('npm', ['install', '--package-lock-only', '--offline'], folder)
  if (status !== 0) throw new Error(stderr)
  mkdirSync(join(folder, '.ci'))
  cpSync(INSTALL, join(folder, '.ci', 'install.mjs'))
  writePreparing(folder, 'export const isPrepared = () => true')
  writeFileSync(join(folder, '.ci', 'page.mjs'), 'export const isPageMade = () => true')
  return folder
}

/** The clone has nothing to bundle. */
const writePreparing = (folder: string, text: string) => writeFileSync(join(folder, '.ci', 'prepare.mjs'), text)

t.test('a start installs the packages for running, a test adds the others and removes none', async (test) => {
  const folder = clone(test)
  const has = (name: string) => existsSync(join(folder, 'node_modules', name, 'package.json'))
  const install = (mode: string) => {
    const { status, stderr } = run(process.execPath, ['.ci/install.mjs', mode], folder)
    test.equal(status, 0, `${mode}: ${stderr}`)
    return stderr
  }
  const said = install('start')
  test.match(said, /^fulcrum: installing the npm packages that the daemon needs …\n/)
  test.match(said, /\nfulcrum: npm packages installed in \d+ s\n$/)
  test.same([has('runs'), has('tests')], [true, false])
  test.equal(install('start'), '', 'nothing is missing, nothing is printed')

  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8')
  const running = statSync(join(folder, 'node_modules', 'runs')).ino
  test.match(install('test'), /installing the npm packages that tests and checks need/)
  test.same([has('runs'), has('tests')], [true, true])
  test.equal(statSync(join(folder, 'node_modules', 'runs')).ino, running, 'a daemon that runs from it keeps it')
  test.equal(readFileSync(join(folder, 'package-lock.json'), 'utf8'), lock)
  test.equal(install('start') + install('test'), '', 'everything is there')
})

t.test('packages that were installed by hand are accepted as they are', async (test) => {
  const folder = clone(test)
  const ci = (...words: readonly string[]) => test.equal(run('npm', ['ci', '--offline', ...words], folder).status, 0)
  const mode = (name: string) => run(process.execPath, ['.ci/install.mjs', name], folder).stderr
  ci()
  test.equal(mode('start') + mode('test'), '')
  ci('--omit=dev')
  test.equal(mode('start'), '')
  test.match(mode('test'), /installing the npm packages that tests/)
})

t.test('a lock that cannot be followed is reported, and nothing is stamped', async (test) => {
  const folder = clone(test)
  writeFileSync(join(folder, 'runs-1.0.0.tgz'), 'not a package')
  rmSync(join(folder, '.npm'), { recursive: true })
  const { status, stderr } = run(process.execPath, ['.ci/install.mjs', 'start'], folder)
  test.equal(status, 1)
  test.match(stderr, /npm ci failed \(exit \d+\); nothing was started\n$/)
  test.notOk(existsSync(join(folder, 'node_modules', '.fulcrum-lock')))
})

t.test('a start continues where the sources cannot be bundled, and reports the cost', (test) => {
  const folder = clone(test)
  const install = () => run(process.execPath, ['.ci/install.mjs', 'start'], folder)
  install()
  const failing = `export const isPrepared = () => false
export const prepare = async () => { throw new Error('EROFS: read-only file system') }`
  writePreparing(folder, failing)
  const { status, stderr } = install()
  test.equal(status, 0)
  test.match(stderr, /^fulcrum: starts will be slower, as the sources could not be put together: EROFS/)
  test.end()
})
