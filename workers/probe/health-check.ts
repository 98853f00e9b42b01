import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { SANDBOX } from '../../src/health-checks/built-in.ts'
import { shellWord } from '../../src/health-checks/wrapper.ts'
import type { CheckTrial, CheckTried, ScriptRan, ScriptRun } from '../../src/model/machine-facts.ts'
import type { Run } from '../host/managed-program.ts'

const SECONDS_MAX = 10
const OUTPUT_BYTES_MAX = 16 * 1024
/** The sandbox ends the script in time; this margin is for a sandbox that hangs. */
const SPARE_S = 5
const KILLED = 137
// oxlint-disable-next-line no-control-regex -- control characters are exactly what may not come through
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** Runs a check once in the sandbox. */
export async function runHealthCheck(trial: CheckTrial, folder: string, run: Run): Promise<CheckTried> {
  const { script, ip, port, flags } = trial
  const anywhere = ip.includes(':') ? '::' : '0.0.0.0'
  const words = [anywhere, '0', ip, String(port), ...flags]
  const ran = await runScript({ script, words, input: '', seconds: SECONDS_MAX }, folder, run)
  return { ...ran, up: ran.exitCode === 0 }
}

/** Runs a script once in the sandbox, from a temporary folder. Output beyond the bound is read and dropped. */
export async function runScript(called: ScriptRun, folder: string, run: Run): Promise<ScriptRan> {
  const place = `${folder}/${randomUUID()}`
  await mkdir(place, { recursive: true, mode: 0o700 })
  try {
    await writeFile(`${place}/script`, called.script, { mode: 0o600 })
    await writeFile(`${place}/sandbox`, SANDBOX, { mode: 0o700 })
    await writeFile(`${place}/run`, callOf(called, place), { mode: 0o700 })
    const started_ms = performance.now()
    // The daemon's own unit may not create a sandbox.
    const options = { isUnconfined: true, ...(called.input === '' ? {} : { input: called.input }) }
    const { exitCode, output } = await run([`${place}/run`], (called.seconds + SPARE_S) * 1_000, options)
    const durationMs = Math.round(performance.now() - started_ms)
    return { exitCode, durationMs, output: told(output, exitCode, durationMs, called.seconds) }
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

/** Returns the call as a script, so that its words are not arguments of a program that would interpret them. */
function callOf({ words: called, seconds, input }: ScriptRun, place: string): string {
  const words = [`${place}/sandbox`, 'test', String(seconds), `${place}/script`, ...called]
  const reads = input === '' ? ' </dev/null' : ''
  return `${[
    '#!/bin/bash',
    'set -o pipefail',
    `${words.map(shellWord).join(' ')}${reads} 2>&1 | { head -c ${OUTPUT_BYTES_MAX}; cat >/dev/null; }`,
  ].join('\n')}\n`
}

function told(output: string, exitCode: number, durationMs: number, seconds: number): string {
  const text = output.replaceAll(CONTROL, '')
  const isLate = exitCode === KILLED && durationMs >= seconds * 1000
  return isLate ? `${text}\nIt took more than ${seconds} s and was killed.`.trim() : text
}
