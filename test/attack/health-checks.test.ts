import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkFrom } from '../../src/health-checks/built-in.ts'
import { valueProblem } from '../../src/health-checks/values.ts'
import { checkFiles, SANDBOX_NAME, wrapperName } from '../../src/health-checks/wrapper.ts'
import { runHealthCheck } from '../../workers/probe/health-check.ts'
import { runProgram } from '../../workers/host/linux-host.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { ownCheck } from '../fixtures/health-check.ts'
import { sandboxProblem } from '../fixtures/sandbox.ts'
import { HOSTILE, LEADING } from './hostile-texts.ts'

const TAKEN = [...new Set([...HOSTILE, ...LEADING])].filter(
  // Text with broken characters cannot be distinguished in a program's output.
  (text) => valueProblem('string', text) === undefined && !/\p{Surrogate}/u.test(text),
)

t.test('health checks: a value stays one word of the script, whatever it holds', async (test) => {
  test.ok(TAKEN.length > 30, `${TAKEN.length} texts`)
  const folder = temporaryFolder(test, 'wrappers')
  const told = join(folder, 'told')
  const parameters = TAKEN.map((_, index) => ({ name: `p${index}`, type: 'string' as const }))
  const values = Object.fromEntries(TAKEN.map((text, index) => [`p${index}`, text]))
  const healthCheck = { type: 'script' as const, id: 'c', parameters: values }
  const checkOf = checkFrom(() => ownCheck('c', { parameters }))
  for (const { name, content } of checkFiles(folder, [{ id: 'b', healthCheck }], checkOf, () => 'as called')) {
    writeFileSync(join(folder, name), content, { mode: 0o755 })
  }
  writeFileSync(join(folder, SANDBOX_NAME), `#!/bin/sh\nprintf '%s\\n' "$@" >'${told}'\n`, { mode: 0o755 })
  execFileSync(join(folder, wrapperName('b')), ['v', '1', 'r', '2'], { cwd: folder })
  const words = execFileSync('cat', [told], { encoding: 'utf8' }).split('\n')
  test.strictSame(words.slice(3), ['v', '1', 'r', '2', ...TAKEN.map((text, index) => `--p${index}=${text}`), ''])
})

t.test('health checks: the same for a check that is being tested', { skip: sandboxProblem() }, async (test) => {
  const script = '#!/bin/bash\nprintf "%s\\n" "${@:5}"\n'
  const flags = TAKEN.map((text, index) => `--p${index}=${text}`)
  const trial = { script, ip: '192.0.2.1', port: 80, flags }
  const { output, exitCode } = await runHealthCheck(trial, temporaryFolder(test, 'trials'), runProgram)
  test.equal(exitCode, 0)
  // Control characters beyond ASCII are not shown.
  test.equal(
    output,
    flags
      .join('\n')
      .replaceAll(/[\u0080-\u009f]/g, '')
      .trim(),
  )
})
