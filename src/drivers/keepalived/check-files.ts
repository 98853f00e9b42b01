import { checkFrom } from '../../health-checks/built-in.ts'
import { tidyingStep, writingSteps } from '../../health-checks/steps.ts'
import { type CheckFile, checkFiles as filesOf } from '../../health-checks/wrapper.ts'
import type { L4Backend } from '../../model/layer4.ts'
import type { ConfigView } from '../../model/sections.ts'
import type { FileContent, Step } from '../driver.ts'
import { CHECK_FOLDER, isProgram } from './checks.ts'

/** Frontends that serve, as far as checks go. */
type Checked = readonly { readonly backend: L4Backend }[]

function namedFiles(served: Checked, view: ConfigView): readonly CheckFile[] {
  const backends = new Map(served.map(({ backend }) => [backend.id, backend]))
  const programs = [...backends.values()].filter(({ healthCheck }) => isProgram(healthCheck))
  if (programs.length === 0) return []
  const checkOf = checkFrom((id) => view.get('healthChecks', id))
  return filesOf(CHECK_FOLDER, programs, checkOf, () => 'as called')
}

/** The programs that keepalived.conf names. */
export function checkFiles(served: Checked, view: ConfigView): readonly FileContent[] {
  return namedFiles(served, view).map(({ name, content }) => ({ path: `${CHECK_FOLDER}/${name}`, content }))
}

/**
 * Writes them before keepalived is told. What `running` uses stays until the next change of the whole: keepalived may start
 * one once more before it reads its file. Nothing stays where nothing is served.
 */
export function checkSteps(
  served: Checked,
  view: ConfigView,
  running: { readonly served: Checked; readonly view: ConfigView } | undefined,
): readonly Step[] {
  const before = running === undefined ? [] : namedFiles(running.served, running.view)
  const wanted = namedFiles(served, view)
  if (before.length === 0 && wanted.length === 0) return []
  const names = new Set(wanted.map(({ name }) => name))
  const kept = served.length === 0 ? [] : [...wanted, ...before.filter(({ name }) => !names.has(name))]
  return [...writingSteps(CHECK_FOLDER, before, wanted), tidyingStep(CHECK_FOLDER, kept)]
}
