import type { KeepOnlyStep, Step } from './driver.ts'
import { CHECK_FILE_MODE, type CheckFile, SANDBOX_NAME } from '../health-checks/wrapper.ts'

const TIMEOUT_MS = 10_000

/**
 * Writes new and changed files of checks, the sandbox after it was tried: if it does not work, nothing is applied.
 * `before` are the files that certainly exist.
 */
export function writingSteps(
  folder: string,
  before: readonly CheckFile[],
  wanted: readonly CheckFile[],
): readonly Step[] {
  const known = new Map(before.map(({ name, content }) => [name, content]))
  return wanted
    .filter(({ name, content }) => known.get(name) !== content)
    .toSorted((a, b) => Number(b.name === SANDBOX_NAME) - Number(a.name === SANDBOX_NAME))
    .flatMap(({ name, content }): readonly Step[] => {
      const path = `${folder}/${name}`
      const file = { timeout_ms: TIMEOUT_MS, path, content, mode: CHECK_FILE_MODE }
      const isSandbox = name === SANDBOX_NAME
      const put: Step = { kind: 'replaceFile', why: `write ${name} of the health checks`, ...file, checked: isSandbox }
      if (!isSandbox) return [put]
      const why = 'test the sandbox of health checks'
      return [{ kind: 'check', why, ...file, argv: [`${path}.candidate`, 'probe'], outside: {} }, put]
    })
}

/** Removes files that no check uses any more, after the programs that run checks have read their new configuration. */
export function tidyingStep(folder: string, kept: readonly CheckFile[]): KeepOnlyStep {
  const names = kept.map(({ name }) => name)
  return {
    kind: 'keepOnly',
    why: 'remove the files of unused health checks',
    timeout_ms: TIMEOUT_MS,
    folder,
    names,
  }
}
