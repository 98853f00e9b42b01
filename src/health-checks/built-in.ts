import { readFileSync } from 'node:fs'
import { lazy } from '../base/lazy.ts'
import { BUILT_IN_CHECKS, CHECK_SERVICES, type HealthCheck } from '../model/health-check.ts'
import { headersOf } from './declarations.ts'

const read = (file: string): string => readFileSync(new URL(`./${file}`, import.meta.url), 'utf8')

/** What runs a script: see the file. */
export const SANDBOX = read('sandbox.sh')

const scripts = BUILT_IN_CHECKS.map((id) => [id, read(`built-in/${id}.sh`)] as const)

function checkOf(id: string, script: string): HealthCheck {
  const description = /^#!.*\n# (.*)$/m.exec(script)?.[1] ?? ''
  const { parameters } = headersOf(script)
  return { id, name: id, description, script, services: [...CHECK_SERVICES], parameters: [...parameters] }
}

const byId = lazy(() => new Map<string, HealthCheck>(scripts.map(([id, script]) => [id, checkOf(id, script)])))

/** Checks that are part of Fulcrum, in the form of those that people make. Their texts are part of the program. */
export const builtInChecks = (): readonly HealthCheck[] => [...byId().values()]

export const builtInCheck = (id: string): HealthCheck | undefined => byId().get(id)

/** The built-in check with this id, or the own one that `find` knows. */
export function checkFrom(find: (id: string) => HealthCheck | undefined): (id: string) => HealthCheck | undefined {
  return (id) => builtInCheck(id) ?? find(id)
}
