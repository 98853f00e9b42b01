// Generates clients from the OpenAPI document with three generators, and compiles them and a client that is written
// with one of them. The generators are installed in .cache/clients when this first runs, or their lock has changed:
// they need an older TypeScript than everything else, and weigh too much for who only runs the tests.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openapiDocument } from '../src/api/openapi.ts'
import { endpoints } from '../src/resources/index.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = fileURLToPath(new URL('clients/', import.meta.url))
const FOLDER = join(ROOT, '.cache', 'clients')
const MADE = join(FOLDER, 'made')
const STAMP = join(FOLDER, 'node_modules', '.lock')
const lock = readFileSync(join(SOURCE, 'package-lock.json'), 'utf8')

function run(program, args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: FOLDER, encoding: 'utf8' })
  return { isRight: status === 0, said: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim() }
}

function install() {
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === lock) return
  mkdirSync(FOLDER, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(SOURCE, name), join(FOLDER, name))
  const { isRight, said } = run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
  if (!isRight) {
    console.log(`skipped: npm cannot install the generators: ${said.split('\n')[0]}`)
    process.exit(0)
  }
  writeFileSync(STAMP, lock)
}

const tool = (name) => join(FOLDER, 'node_modules', '.bin', name)
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc')
const STRICT = [
  '--ignoreConfig',
  '--strict',
  '--noEmit',
  '--skipLibCheck',
  '--noUncheckedIndexedAccess',
  '--target',
  'es2022',
]
const MODULES = ['--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2023,dom,dom.iterable']

const STEPS = [
  {
    what: 'openapi-typescript',
    command: [
      tool('openapi-typescript'),
      'made/openapi.json',
      '-o',
      'made/types.d.ts',
      '--default-non-nullable',
      'false',
    ],
  },
  {
    what: '@hey-api/openapi-ts',
    command: [tool('openapi-ts'), '-i', join(MADE, 'openapi.json'), '-o', 'made/hey-api', '--silent', '--no-log-file'],
  },
  { what: 'orval', command: [tool('orval'), '--config', 'made/orval.config.mjs'] },
  { what: 'the client', command: [TSC, ...STRICT, ...MODULES, 'made/forty-operations.ts'] },
  { what: 'what @hey-api/openapi-ts made', command: [TSC, ...STRICT, ...MODULES, 'made/hey-api/index.ts'] },
  { what: 'what orval made', command: [TSC, ...STRICT, ...MODULES, 'made/orval.ts'] },
]

install()
rmSync(MADE, { recursive: true, force: true })
mkdirSync(MADE, { recursive: true })
writeFileSync(join(MADE, 'openapi.json'), JSON.stringify(openapiDocument(endpoints, '0')))
for (const name of ['forty-operations.ts', 'orval.config.mjs']) copyFileSync(join(SOURCE, name), join(MADE, name))
for (const { what, command } of STEPS) {
  const [program, ...args] = command
  const { isRight, said } = run(program, args)
  if (isRight) continue
  console.log(`${what}: ${said.split('\n').slice(0, 40).join('\n')}`)
  process.exitCode = 1
}
