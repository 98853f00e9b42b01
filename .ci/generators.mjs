// The generators that the OpenAPI document is tried with, and that types of the client are made with. They are
// installed in .cache/clients when they are first needed or their lock has changed: they need an older TypeScript than
// everything else, and would weigh too much for somebody who only runs the tests.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const SOURCE = fileURLToPath(new URL('clients/', import.meta.url))
export const FOLDER = join(ROOT, '.cache', 'clients')
const STAMP = join(FOLDER, 'node_modules', '.lock')
const lock = readFileSync(join(SOURCE, 'package-lock.json'), 'utf8')

/** Without what a test preloads into every program of Node: tsc does not start with it. */
export function run(program, args, cwd = FOLDER) {
  const words = ['-u', 'NODE_OPTIONS', program, ...args]
  const { status, stdout, stderr, error } = spawnSync('env', words, { cwd, encoding: 'utf8' })
  return { isRight: status === 0, said: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim() }
}

export const tool = (name) => join(FOLDER, 'node_modules', '.bin', name)

const areInstalled = () => existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lock

/** Answers why they are not there, or undefined. One installs them at a time: each would delete what the other has. */
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

/** Types of the document in this file, of openapi-typescript. */
export const typesOf = (document, file) => [
  tool('openapi-typescript'),
  document,
  '-o',
  file,
  // A field with a default may be left out.
  '--default-non-nullable',
  'false',
]
