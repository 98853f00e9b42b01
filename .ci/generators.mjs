// The generators that test the OpenAPI document and produce the client's types. They are installed in .cache/clients
// when first needed, or when their lock has changed: they need an older TypeScript than everything else, and are too
// big for people who only run the tests.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const SOURCE = fileURLToPath(new URL('clients/', import.meta.url))
export const FOLDER = join(ROOT, '.cache', 'clients')
const STAMP = join(FOLDER, 'node_modules', '.lock')
const lock = readFileSync(join(SOURCE, 'package-lock.json'), 'utf8')

/**
 * Runs a program without NODE_OPTIONS: tsc does not start with the modules that a test preloads into every Node
 * program.
 */
export function run(program, args, cwd = FOLDER) {
  const words = ['-u', 'NODE_OPTIONS', program, ...args]
  const { status, stdout, stderr, error } = spawnSync('env', words, { cwd, encoding: 'utf8' })
  return { isRight: status === 0, said: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim() }
}

export const tool = (name) => join(FOLDER, 'node_modules', '.bin', name)

const areInstalled = () => existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lock

/**
 * Returns why the generators are missing, or undefined. Only one process at a time installs them: each would delete
 * what the other has installed.
 */
export function installGenerators() {
  if (areInstalled()) return undefined
  mkdirSync(FOLDER, { recursive: true })
  const { isRight, said } = run('flock', [`${FOLDER}.lock`, process.execPath, fileURLToPath(import.meta.url)])
  return isRight ? undefined : `npm cannot install the generators: ${said.split('\n')[0]}`
}

function install() {
  if (areInstalled()) return
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(SOURCE, name), join(FOLDER, name))
  const { isRight, said } = run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
  if (!isRight) throw new Error(said)
  writeFileSync(STAMP, lock)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    install()
  } catch (error) {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}

/** Returns the command by which openapi-typescript writes the document's types to this file. */
export const typesOf = (document, file) => [
  tool('openapi-typescript'),
  document,
  '-o',
  file,
  // Fields with a default stay optional.
  '--default-non-nullable',
  'false',
]
