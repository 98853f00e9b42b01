import type { RunStep, Step } from '../driver.ts'
import type { Setting } from '../host.ts'
import type { WeightChange } from './weights.ts'
import { CONFIG_FILE, MARKS_FILE, WEIGHTS_FOLDER } from './paths.ts'

/** The file may contain passwords of checks. */
export const CONFIG_MODE = 0o600
export const OPEN_MODE = 0o644
export const TIMEOUT_MS = 30_000
const CHECK_TIMEOUT_MS = 60_000

export const configCheck = (content: string): Step => ({
  kind: 'check',
  why: 'let keepalived check the new configuration',
  timeout_ms: CHECK_TIMEOUT_MS,
  path: CONFIG_FILE,
  content,
  mode: CONFIG_MODE,
  argv: ['keepalived', '--config-test', '--use-file', `${CONFIG_FILE}.candidate`],
  namesInterfaces: true,
})

export const marksCheck = (content: string): Step => ({
  kind: 'check',
  why: 'let nft check the firewall marks',
  timeout_ms: TIMEOUT_MS,
  path: MARKS_FILE,
  content,
  mode: OPEN_MODE,
  argv: ['nft', '--check', '--file', `${MARKS_FILE}.candidate`],
})

export const replace = (path: string, content: string, mode: number) =>
  ({ kind: 'replaceFile', why: `write ${path}`, timeout_ms: TIMEOUT_MS, path, content, mode, checked: true }) as const

export const valuesStep = ({ values, ifThere }: WeightChange): Step => ({
  kind: 'values',
  why: 'set the weights of real servers',
  timeout_ms: TIMEOUT_MS,
  folder: WEIGHTS_FOLDER,
  values: [...values],
  ifThere: [...ifThere],
  keepsOnly: false,
})

export const keepWeights = (names: Iterable<string>): Step => ({
  kind: 'keepOnly',
  why: 'remove weights of deleted real servers',
  timeout_ms: TIMEOUT_MS,
  folder: WEIGHTS_FOLDER,
  names: [...names],
})

export function setting(wanted: Setting, value: string | undefined, why: string): Step {
  return { kind: 'setting', why, timeout_ms: TIMEOUT_MS, setting: wanted, value, isOptional: value === undefined }
}

export const command = (argv: readonly string[], why: string): RunStep => ({
  kind: 'run',
  why,
  timeout_ms: TIMEOUT_MS,
  argv,
  undo: 'irreversible',
})
