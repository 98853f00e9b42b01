import type { Restoration, RestoreRequest } from '../context/backups.ts'
import { ApiError, type FieldError, problemsText } from '../base/errors.ts'
import type { NetworkInterface } from '../model/machine-facts.ts'
import type { ConfigView } from '../model/sections.ts'
import { fullContents, strangeInterfaces } from './full-restore.ts'
import { openReferences, partContents } from './part-restore.ts'
import type { OpenBackup } from '../backup-file/reading.ts'
import { fullProblems, managementOf, partProblems } from './restore-rules.ts'

export interface RestoreState {
  readonly born: string
  readonly nodeId: string
  readonly running: ConfigView
  readonly candidate: ConfigView
  readonly interfaces: readonly NetworkInterface[]
}

/** Returns what a request makes of a backup; refuses with every problem of its fields. */
export function restoration(
  request: RestoreRequest,
  { head, contents }: OpenBackup,
  { born, nodeId, running, candidate, interfaces }: RestoreState,
): Restoration {
  if (request.sections !== undefined) {
    refuse(partProblems(request))
    const parts = partContents(contents, request)
    refuse(openReferences(parts, candidate, request))
    return { contents: parts, isFull: false, warnings: [], wanted: nodeId, others: [] }
  }
  refuse(fullProblems(request, head, interfaces))
  const wanted = request.nodeId ?? head.nodes[0]?.id ?? nodeId
  const others = head.nodes.filter(({ id }) => id !== wanted)
  const identity = {
    born,
    nodeId,
    wanted,
    others: others.map(({ id }) => id),
    records: [...running.list('nodeIdentities')],
  }
  const all = fullContents(contents, identity, managementOf(request, interfaces))
  return { contents: all, isFull: true, warnings: strangeInterfaces(all, interfaces, wanted), wanted, others }
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  throw new ApiError('INVALID_BODY', `The body has ${problemsText(errors)}`, { errors })
}
