import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'

const PROGRAM = fileURLToPath(new URL('../../workers/detached.ts', import.meta.url))

t.test('in its own session it survives its starter', async (test) => {
  const folder = temporaryFolder(test, 'detached')
  const step = (script: string) => ({
    kind: 'program',
    why: 'work',
    weight: 1,
    argv: ['sh', '-c', script],
    timeout_ms: 9000,
  })
  const steps = [step('sleep 0.3; echo said'), step(`echo done > ${folder}/done`)]
  writeFileSync(join(folder, 'plan.json'), JSON.stringify({ repair: [], steps }))
  const argv = [
    '--fork',
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    PROGRAM,
    folder,
    'boot',
    '--background',
  ]
  // Ends at once: its starter does not wait for the output of the rest.
  const started = spawnSync('setsid', argv, { encoding: 'utf8', timeout: 9000 })
  test.match(started, { status: 0, stdout: '', stderr: '' })
  await until('end', async () => existsSync(join(folder, 'done')))
  const status = join(folder, 'status.json')
  await until('status', async () => readFileSync(status, 'utf8').includes('"succeeded"'))
  test.match(readFileSync(join(folder, 'log'), 'utf8'), /said/)
})
