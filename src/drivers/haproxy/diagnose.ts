import type { ConfigView } from '../../model/sections.ts'
import type { Problem } from '../../model/problem.ts'
import type { HaproxyPaths } from './paths.ts'
import { lineOwners } from './render.ts'
import type { Owner } from './statement.ts'

/**
 * Maps HAProxy's messages to records: by the line of the file if one is named, otherwise by proxy and server. Covers
 * the checker (`haproxy -c`) and a worker that could not bind its ports.
 */
export function diagnoseOutput(output: string, desired: ConfigView, paths: HaproxyPaths): readonly Problem[] {
  const owners = lineOwners(desired, paths)
  const problems = output
    .split('\n')
    .filter((line) => line.startsWith('[ALERT]'))
    .map((line) => line.replace(/^\[ALERT\]\s*(\(\d+\)|[\d/]+)?\s*:?\s*/, '').replace(/^config : /, ''))
    .filter((line) => !SUMMARIES.some((summary) => line.includes(summary)))
    .map((message): Problem => {
      const lineNumber = Number(/\[[^\]]*:(\d+)\]/.exec(message)?.[1] ?? 0)
      const owner = owners[lineNumber - 1] ?? ownerNamed(message, desired)
      const { section, id, field }: Partial<Owner> = owner ?? {}
      return { section, id, field, message: withNames(withoutPath(message), desired) }
    })
  if (problems.length > 0) return problems
  const message = output.trim() === '' ? 'HAProxy refused the configuration and gave no reason' : lastLines(output)
  return [{ section: undefined, id: undefined, field: undefined, message }]
}

/** Lines that only summarise earlier errors. */
const SUMMARIES = [
  'Error(s) found in configuration file',
  'Fatal errors found in configuration',
  'Some protocols failed to start their listeners',
]

function ownerNamed(message: string, desired: ConfigView): Owner | undefined {
  const named = /\b(frontend|backend|[Pp]roxy) '?([A-Za-z0-9-]+)/.exec(message)
  const pair = /\b[Ss]erver '?([A-Za-z0-9-]+)\/([A-Za-z0-9-]+)/.exec(message)
  if (pair?.[1] !== undefined) return { section: 'l7Backends', id: pair[1], field: `reals.${pair[2] ?? ''}` }
  const id = named?.[2]
  if (id === undefined) return undefined
  const field = message.includes('cannot bind') ? 'ports' : undefined
  const isFrontend = desired.get('l7Frontends', id) !== undefined
  if (isFrontend && named?.[1] !== 'backend') return { section: 'l7Frontends', id, field }
  return desired.get('l7Backends', id) === undefined ? undefined : { section: 'l7Backends', id, field }
}

/** Removes the path of our own file, which means nothing to a person who edits records. */
function withoutPath(message: string): string {
  return message.replace(/^(?:parsing|Binding) \[[^\]]*\]\s*:?\s*/, '')
}

/** Replaces record ids, which HAProxy uses, by the names that people have given. */
function withNames(message: string, desired: ConfigView): string {
  const record = (id: string) =>
    desired.get('l7Frontends', id) ?? desired.get('l7Backends', id) ?? desired.get('realServers', id)
  return message.replaceAll(/[A-Za-z0-9-]+/g, (word) => record(word)?.name ?? word)
}

function lastLines(output: string): string {
  return output.trim().split('\n').slice(-3).join('\n')
}
