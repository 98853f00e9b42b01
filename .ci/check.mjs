// `npm run check`: runs every gate, those that fail fastest first. `--without-tests` leaves out the last one. Prints
// each gate's time, and its output only if it fails.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BIN = fileURLToPath(new URL('../node_modules/.bin/', import.meta.url))
const env = {
  ...process.env,
  PATH: `${BIN}:${process.env.PATH}`,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
}

const GATES = [
  { name: 'format', command: ['oxfmt', '--check', '.'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'types', command: ['tsc', '-p', '.'] },
  { name: 'types of the page', command: ['tsc', '-p', 'src/ui'] },
  { name: 'unused code', command: ['knip'] },
  { name: 'OpenAPI document', command: ['node', '.ci/openapi.mjs'] },
  { name: 'generated clients', command: ['node', '--disable-warning=ExperimentalWarning', '.ci/clients.mjs'] },
  { name: 'tests', command: ['node', '.ci/test.mjs'] },
]

const gates = process.argv.includes('--without-tests') ? GATES.filter(({ name }) => name !== 'tests') : GATES
const failed = []
for (const { name, command } of gates) {
  const [program, ...args] = command
  const started = performance.now()
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: ROOT,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 256 * 1024 * 1024,
  })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  const skipped = stdout?.split('\n').find((line) => line.startsWith('skipped: '))
  if (skipped !== undefined) console.log(`       ${skipped}`)
  if (status === 0) continue
  failed.push(name)
  console.log(`${stdout ?? ''}${stderr ?? ''}${error ? error.message : ''}`.trimEnd())
}
console.log(`gates: ${gates.length - failed.length} passed, ${failed.length} failed`)
process.exitCode = failed.length === 0 ? 0 : 1
