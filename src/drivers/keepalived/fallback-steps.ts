import type { Step } from '../driver.ts'
import { FALLBACK_PROGRAM_TEXT } from './fallback-program.ts'
import { fallbackCommand } from './fallback.ts'
import { FALLBACK_PROGRAM, SETTLE_PROGRAM } from './paths.ts'
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

const withFallback = (all: All): All => all.filter(({ backend }) => backend.fallback !== null)
const hasFallback = (all: All): boolean => withFallback(all).length > 0

/**
 * What looks, for every frontend, whether its fallback is needed. Places and marks only: nothing that a person typed.
 */
const settleText = (all: All): string =>
  ['#!/bin/sh', ...withFallback(all).map((served) => fallbackCommand(served, 'settle').join(' ')), 'exit 0', ''].join(
    '\n',
  )

export function fallbackProgram(all: All): readonly Step[] {
  if (!hasFallback(all)) return []
  return [
    { ...replace(FALLBACK_PROGRAM, FALLBACK_PROGRAM_TEXT, PROGRAM_MODE), checked: false },
    { ...replace(SETTLE_PROGRAM, settleText(all), PROGRAM_MODE), checked: false },
  ]
}

export const fallbackGone = (running: All | undefined, desired: All): readonly Step[] =>
  hasFallback(desired) || (running !== undefined && !hasFallback(running)) ? [] : NO_PROGRAMS

/** No files of configuration: their first line says what runs them. */
export const NO_PROGRAMS: readonly Step[] = [FALLBACK_PROGRAM, SETTLE_PROGRAM].map((path) => ({
  kind: 'removeFile',
  why: 'remove the program of fallbacks',
  timeout_ms: TIMEOUT_MS,
  path,
}))

/**
 * keepalived tells of servers that go and come, not of those that were never there, nor whether a fallback is needed
 * that it did not know until now. So where something changed somebody has to look; of an unknown machine only where
 * nothing can serve.
 */
export function standIns(running: All | undefined, desired: All): readonly Step[] {
  if (running === undefined) {
    return withFallback(desired)
      .filter(({ destinations }) => destinations.every(({ share }) => !takes(share)))
      .map((one) => command(fallbackCommand(one, 'add'), `let the fallback of ${one.frontend.id} stand in`))
  }
  const same = new Set(running)
  return withFallback(desired)
    .filter((served) => !same.has(served))
    .map((one) => command(fallbackCommand(one, 'settle'), `see whether the fallback of ${one.frontend.id} is needed`))
}

const takes = (share: Served['destinations'][number]['share']): boolean => share !== 'halted' && share > 0
