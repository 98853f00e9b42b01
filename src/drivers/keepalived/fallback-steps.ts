import type { Step } from '../driver.ts'
import { FALLBACK_PROGRAM_TEXT } from './fallback-program.ts'
import { fallbackCommand } from './fallback.ts'
import { FALLBACK_PROGRAM, SETTLE_PROGRAM } from './paths.ts'
import type { Served } from './services.ts'
import { command, replace, TIMEOUT_MS } from './steps.ts'

const PROGRAM_MODE = 0o755

type All = readonly Served[]

/** Removes old fallbacks. keepalived does not know of them, and removes only what it has added itself. */
export function goneFallbacks(running: All | undefined, desired: All): readonly Step[] {
  const wanted = new Set(desired.map((served) => fallbackCommand(served, 'remove').join(' ')))
  return (running ?? [])
    .filter((served) => served.backend.fallback !== null)
    .map((served) => fallbackCommand(served, 'remove'))
    .filter((argv) => !wanted.has(argv.join(' ')))
    .map((argv) => command(argv, 'remove an obsolete fallback'))
}

const withFallback = (all: All): All => all.filter(({ backend }) => backend.fallback !== null)
const hasFallback = (all: All): boolean => withFallback(all).length > 0

/**
 * Text of the program that tests for every frontend whether its fallback is needed. Contains only addresses and marks:
 * nothing that a person typed.
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

/** Plain removals, without giving anything back: the files are programs, whose first line names their interpreter. */
export const NO_PROGRAMS: readonly Step[] = [FALLBACK_PROGRAM, SETTLE_PROGRAM].map((path) => ({
  kind: 'removeFile',
  why: 'remove the program of fallbacks',
  timeout_ms: TIMEOUT_MS,
  path,
}))

/**
 * keepalived reports servers that go and come, but not those that never came up, nor whether a newly configured
 * fallback is needed. So changed frontends are tested; on a machine in an unknown state, fallbacks are added only where
 * nothing can serve.
 */
export function standIns(running: All | undefined, desired: All): readonly Step[] {
  if (running === undefined) {
    return withFallback(desired)
      .filter(({ destinations }) => destinations.every(({ share }) => !takes(share)))
      .map((one) => command(fallbackCommand(one, 'add'), `activate the fallback of ${one.frontend.id}`))
  }
  const same = new Set(running)
  return withFallback(desired)
    .filter((served) => !same.has(served))
    .map((one) => command(fallbackCommand(one, 'settle'), `check whether the fallback of ${one.frontend.id} is needed`))
}

const takes = (share: Served['destinations'][number]['share']): boolean => share !== 'halted' && share > 0
