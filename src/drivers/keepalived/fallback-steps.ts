import type { Step } from '../driver.ts'
import { FALLBACK_PROGRAM_TEXT } from '../../ipvs/fallback-program.ts'
import { fallbackCommand } from './fallback.ts'
import { FALLBACK_PROGRAM } from './paths.ts'
import type { Served } from './services.ts'
import { command, replace, TIMEOUT_MS } from './steps.ts'

const PROGRAM_MODE = 0o755

type All = readonly Served[]

/** keepalived does not know of them: what it did not put into the table it does not take out. */
export function goneFallbacks(running: All | undefined, desired: All): readonly Step[] {
  const wanted = new Set(desired.map((served) => fallbackCommand(served, 'remove').join(' ')))
  return (running ?? [])
    .filter((served) => served.backend.fallback !== null)
    .map((served) => fallbackCommand(served, 'remove'))
    .filter((argv) => !wanted.has(argv.join(' ')))
    .map((argv) => command(argv, 'take a fallback out that is no longer one'))
}

const hasFallback = (all: All): boolean => all.some(({ backend }) => backend.fallback !== null)

export const fallbackProgram = (all: All): readonly Step[] =>
  hasFallback(all) ? [{ ...replace(FALLBACK_PROGRAM, FALLBACK_PROGRAM_TEXT, PROGRAM_MODE), checked: false }] : []

export const fallbackGone = (running: All | undefined, desired: All): readonly Step[] =>
  hasFallback(desired) || (running !== undefined && !hasFallback(running)) ? [] : [NO_PROGRAM]

/** No file of configuration: its first line says what runs it. */
export const NO_PROGRAM: Step = {
  kind: 'removeFile',
  why: 'remove the program of fallbacks',
  timeout_ms: TIMEOUT_MS,
  path: FALLBACK_PROGRAM,
}

/**
 * keepalived tells of servers that go and come, not of those that were never there, nor whether a fallback is needed that it did not
 * know until now. So where something changed somebody has to look; of an unknown machine only where nothing can serve.
 */
export function standIns(running: All | undefined, desired: All): readonly Step[] {
  const withFallback = desired.filter(({ backend }) => backend.fallback !== null)
  if (running === undefined) {
    return withFallback
      .filter(({ destinations }) => destinations.every(({ share }) => !takes(share)))
      .map((one) => command(fallbackCommand(one, 'add'), `let the fallback of ${one.frontend.id} stand in`))
  }
  const same = new Set(running)
  return withFallback
    .filter((served) => !same.has(served))
    .map((one) => command(fallbackCommand(one, 'settle'), `see whether the fallback of ${one.frontend.id} is needed`))
}

const takes = (share: Served['destinations'][number]['share']): boolean => share !== 'halted' && share > 0
