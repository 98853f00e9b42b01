import { readFileSync } from 'node:fs'
import { lazy } from '../base/lazy.ts'
import { BUILT_IN_CHECKS, CHECK_SERVICES, type HealthCheck } from '../model/health-check.ts'
import { headersOf } from './declarations.ts'

const read = (file: string): string => readFileSync(new URL(`./${file}`, import.meta.url), 'utf8')

/** The script that runs all checks; see its file. */
export const SANDBOX = read('sandbox.sh')

const scripts = BUILT_IN_CHECKS.map((id) => [id, read(`built-in/${id}.sh`)] as const)

function checkOf(id: string, script: string): HealthCheck {
  const description = /^#!.*\n# (.*)$/m.exec(script)?.[1] ?? ''
  const { parameters } = headersOf(script)
  return { id, name: id, description, script, services: [...CHECK_SERVICES], parameters: [...parameters] }
}

const byId = lazy(() => new Map<string, HealthCheck>(scripts.map(([id, script]) => [id, checkOf(id, script)])))

/**
 * Returns the checks that are part of Fulcrum, in the same form as custom ones. Their scripts are part of the program.
 */
export const builtInChecks = (): readonly HealthCheck[] => [...byId().values()]

export const builtInCheck = (id: string): HealthCheck | undefined => byId().get(id)

/** Returns a function that finds a check by id: a built-in one, or a custom one that `find` knows. */
export function checkFrom(find: (id: string) => HealthCheck | undefined): (id: string) => HealthCheck | undefined {
  return (id) => builtInCheck(id) ?? find(id)
}
