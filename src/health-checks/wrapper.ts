import type { HealthCheck, HealthCheckSetting } from '../model/health-check.ts'
import { askedCheck, flagsOf } from './asked-check.ts'
import { SANDBOX } from './built-in.ts'

/** A file in a folder of checks, by its name there. All accounts can read and run these files. */
export interface CheckFile {
  readonly name: string
  readonly content: string
}
export const CHECK_FILE_MODE = 0o755

export const SANDBOX_NAME = 'sandbox'
/** The prefix is needed because a backend and a script may have the same id. */
export const wrapperName = (backendId: string): string => `backend-${backendId}`
const scriptName = (id: string): string => `script-${id}`

/** Quotes a word for a POSIX shell, whatever it contains. */
export function shellWord(word: string): string {
  return /^[\w./:@=+,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/** A backend whose check runs as a program. */
interface Checked {
  readonly id: string
  readonly healthCheck: HealthCheckSetting
  readonly timeouts?: { readonly check?: number }
}

/** `as called`: the balancer itself passes VIP and VPORT, as the first two words of the wrapper. */
type Virtual = { readonly ip: string; readonly port: number | undefined } | 'as called'

/**
 * Returns a wrapper that runs the script of one backend in the sandbox with that backend's values; the caller adds only
 * VIP VPORT RIP RPORT. HAProxy and keepalived end a check after its interval: the sandbox outlasts them a little, if
 * the backend has no shorter timeout.
 */
function wrapperText(folder: string, check: HealthCheck, backend: Checked, virtual: Virtual): string {
  const asked = askedCheck(backend.healthCheck)
  const words = [
    `${folder}/${SANDBOX_NAME}`,
    'check',
    String(Math.min((asked?.interval ?? 1) + 1, backend.timeouts?.check ?? Infinity)),
    `${folder}/${scriptName(check.id)}`,
  ]
  const front = virtual === 'as called' ? ['"$1"', '"$2"'] : [shellWord(virtual.ip), String(virtual.port ?? 0)]
  const flags = flagsOf(check, asked?.values ?? {}).map(shellWord)
  return `${[
    '#!/bin/sh',
    '# Written by Fulcrum; changes to this file are lost. Use the API instead.',
    `exec ${[...words.map(shellWord), ...front, '"$3"', '"$4"', ...flags].join(' ')} </dev/null >/dev/null 2>&1`,
  ].join('\n')}\n`
}

/** Returns the files for these backends, ordered by name: their wrappers, the scripts, and the sandbox. */
export function checkFiles<B extends Checked>(
  folder: string,
  backends: readonly B[],
  checkOf: (id: string) => HealthCheck | undefined,
  virtualOf: (backend: B) => Virtual,
): readonly CheckFile[] {
  const files = new Map<string, string>()
  for (const backend of backends) {
    const check = checkOf(askedCheck(backend.healthCheck)?.id ?? '')
    if (check === undefined) continue
    files.set(wrapperName(backend.id), wrapperText(folder, check, backend, virtualOf(backend)))
    files.set(scriptName(check.id), check.script)
  }
  if (files.size > 0) files.set(SANDBOX_NAME, SANDBOX)
  return [...files].map(([name, content]) => ({ name, content })).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
