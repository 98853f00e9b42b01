import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { SANDBOX } from '../../src/health-checks/built-in.ts'
import { shellWord } from '../../src/health-checks/wrapper.ts'
import type { CheckTrial, CheckTried } from '../../src/model/machine-facts.ts'
import type { Run } from '../host/managed-program.ts'

const SECONDS_MAX = 10
const OUTPUT_BYTES_MAX = 16 * 1024
/** The sandbox ends the check; this is for a sandbox that hangs. */
const TIMEOUT_MS = (SECONDS_MAX + 5) * 1000
const KILLED = 137
// oxlint-disable-next-line no-control-regex -- control characters are exactly what may not come through
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/**
 * Runs a check once in the sandbox, from a folder that is gone afterwards. What it prints beyond the bound is read and
 * dropped.
 */
export async function runHealthCheck(trial: CheckTrial, folder: string, run: Run): Promise<CheckTried> {
  const place = `${folder}/${randomUUID()}`
  await mkdir(place, { recursive: true, mode: 0o700 })
  try {
    await writeFile(`${place}/script`, trial.script, { mode: 0o600 })
    await writeFile(`${place}/sandbox`, SANDBOX, { mode: 0o700 })
    await writeFile(`${place}/run`, callOf(trial, place), { mode: 0o700 })
    const started_ms = performance.now()
    // The daemon's own unit may make no sandbox.
    const { exitCode, output } = await run([`${place}/run`], TIMEOUT_MS, { isUnconfined: true })
    const durationMs = Math.round(performance.now() - started_ms)
    return { exitCode, durationMs, output: told(output, exitCode, durationMs), up: exitCode === 0 }
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

/** A file, so that no word of anybody is one of a program that would read more into it. */
function callOf({ ip, port, flags }: CheckTrial, place: string): string {
  const anywhere = ip.includes(':') ? '::' : '0.0.0.0'
  const seconds = String(SECONDS_MAX)
  const words = [`${place}/sandbox`, 'test', seconds, `${place}/script`, anywhere, '0', ip, String(port), ...flags]
  return `${[
    '#!/bin/bash',
    'set -o pipefail',
    `${words.map(shellWord).join(' ')} </dev/null 2>&1 | { head -c ${OUTPUT_BYTES_MAX}; cat >/dev/null; }`,
  ].join('\n')}\n`
}

function told(output: string, exitCode: number, durationMs: number): string {
  const text = output.replaceAll(CONTROL, '')
  const isLate = exitCode === KILLED && durationMs >= SECONDS_MAX * 1000
  return isLate ? `${text}\nIt took more than ${SECONDS_MAX} s and was killed.`.trim() : text
}
