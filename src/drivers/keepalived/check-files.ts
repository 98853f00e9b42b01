import { checkFrom } from '../../health-checks/built-in.ts'
import { tidyingStep, writingSteps } from '../check-file-steps.ts'
import { type CheckFile, checkFiles as filesOf } from '../../health-checks/wrapper.ts'
import type { L4Backend } from '../../model/layer4.ts'
import type { ConfigView } from '../../model/sections.ts'
import type { FileContent, Step } from '../driver.ts'
import { CHECK_FOLDER, isProgram } from './checks.ts'

/** The part of served frontends that checks need. */
type Checked = readonly { readonly backend: L4Backend }[]

function namedFiles(served: Checked, view: ConfigView): readonly CheckFile[] {
  const backends = new Map(served.map(({ backend }) => [backend.id, backend]))
  const programs = [...backends.values()].filter(({ healthCheck }) => isProgram(healthCheck))
  if (programs.length === 0) return []
  const checkOf = checkFrom((id) => view.get('healthChecks', id))
  return filesOf(CHECK_FOLDER, programs, checkOf, () => 'as called')
}

/** Returns the programs that keepalived.conf names. */
export function checkFiles(served: Checked, view: ConfigView): readonly FileContent[] {
  return namedFiles(served, view).map(({ name, content }) => ({ path: `${CHECK_FOLDER}/${name}`, content }))
}

/** A configuration with its served frontends. */
interface From {
  readonly served: Checked
  readonly view: ConfigView
}

const programsOf = (from: From | undefined): readonly CheckFile[] =>
  from === undefined ? [] : namedFiles(from.served, from.view)

/** Writes new programs before keepalived reads its configuration. */
export function checkWrites(running: From | undefined, desired: From): readonly Step[] {
  return writingSteps(CHECK_FOLDER, programsOf(running), programsOf(desired))
}

/** Removes programs that are no longer used, after keepalived has read its new file. */
export function checkTidying(running: From | undefined, desired: From): readonly Step[] {
  const wanted = programsOf(desired)
  return running !== undefined && wanted.length === 0 && programsOf(running).length === 0
    ? []
    : [tidyingStep(CHECK_FOLDER, wanted)]
}
