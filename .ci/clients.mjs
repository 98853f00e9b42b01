// Generates clients from the OpenAPI document with three generators and compiles them, and a program written for our
// own client. That client is packed, and installed from the file that users would get.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openapiDocument } from '../src/api/openapi.ts'
import { endpoints } from '../src/resources/index.ts'
import { makeClient } from './client.mjs'
import { FOLDER, installGenerators, ROOT, run, SOURCE, tool, typesOf } from './generators.mjs'

const MADE = join(FOLDER, 'made')
const PACKED = join(MADE, 'fulcrum-client-0.0.0.tgz')
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

/** Node's types from this repository: a program for Node has them. */
const OF_NODE = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')]

const STEPS = [
  { what: 'openapi-typescript', command: typesOf('made/openapi.json', 'made/types.d.ts') },
  {
    what: '@hey-api/openapi-ts',
    command: [tool('openapi-ts'), '-i', join(MADE, 'openapi.json'), '-o', 'made/hey-api', '--silent', '--no-log-file'],
  },
  { what: 'orval', command: [tool('orval'), '--config', 'made/orval.config.mjs'] },
  { what: 'the program', command: [TSC, ...STRICT, ...MODULES, ...OF_NODE, 'made/user/forty-operations.mts'] },
  { what: 'types of openapi-typescript', command: [TSC, ...STRICT, ...MODULES, 'made/types.d.ts'] },
  { what: 'what @hey-api/openapi-ts made', command: [TSC, ...STRICT, ...MODULES, 'made/hey-api/index.ts'] },
  { what: 'what orval made', command: [TSC, ...STRICT, ...MODULES, 'made/orval.ts'] },
]

const missing = installGenerators()
if (missing !== undefined) {
  console.log(`skipped: ${missing}`)
  process.exit(0)
}
rmSync(MADE, { recursive: true, force: true })
mkdirSync(join(MADE, 'user'), { recursive: true })
writeFileSync(join(MADE, 'openapi.json'), JSON.stringify(openapiDocument(endpoints, '0')))
copyFileSync(join(SOURCE, 'orval.config.mjs'), join(MADE, 'orval.config.mjs'))
copyFileSync(join(SOURCE, 'forty-operations.ts'), join(MADE, 'user', 'forty-operations.mts'))
makeClient(join(MADE, 'client'), '0.0.0')
STEPS.unshift(
  { what: 'npm pack', command: ['npm', 'pack', './made/client', '--pack-destination', 'made', '--silent'] },
  {
    what: 'npm install',
    command: ['npm', 'install', '--prefix', 'made/user', '--offline', '--no-audit', '--no-fund', PACKED],
  },
)
for (const { what, command } of STEPS) {
  const [program, ...args] = command
  const { isRight, said } = run(program, args)
  if (isRight) continue
  console.log(`${what}: ${said.split('\n').slice(0, 40).join('\n')}`)
  process.exitCode = 1
}
