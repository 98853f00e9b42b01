import type { NodeOutcome } from '../../context/applying.ts'
import { ApiError } from '../../base/errors.ts'
import type { Problem } from '../../model/problem.ts'
import type { NodeName, Refusal } from './other-nodes.ts'

/** The refusal of a node that cannot apply, or has failed to. */
export interface NodeRefusal {
  readonly node: NodeName
  readonly refusal: Refusal
}

export function refusalOf(error: unknown): Refusal {
  if (error instanceof ApiError) return { code: error.code, message: error.message, details: error.details }
  return { code: 'INTERNAL', message: 'a defect of the daemon; see its log', details: {} }
}

/**
 * Returns the refusal of an apply before anything was changed: the problems that all nodes found, or the first other
 * reason.
 */
export function unprepared(refusals: readonly [NodeRefusal, ...NodeRefusal[]]): ApiError {
  const invalid = refusals.filter(({ refusal }) => refusal.code === 'CONFIG_INVALID')
  const [{ node, refusal }] = [invalid[0] ?? refusals[0]]
  const message = `Nothing was changed. ${node.name}: ${refusal.message}`
  if (invalid.length === 0) {
    const { data, ...details } = refusal.details
    return new ApiError(refusal.code, message, { ...details, data: { ...Object(data), nodeId: node.id } })
  }
  const errors = invalid.flatMap((one) => one.refusal.details.errors ?? [])
  const problems = invalid.flatMap((one) =>
    problemsIn(one.refusal).map((problem) => ({ ...problem, nodeId: one.node.id })),
  )
  const output: unknown = Reflect.get(Object(refusal.details.data), 'output')
  return new ApiError('CONFIG_INVALID', message, {
    errors,
    data: { problems, ...(output !== undefined && { output }) },
  })
}

function problemsIn({ details, message }: Refusal): readonly (Problem | { readonly message: string })[] {
  const problems: unknown = Reflect.get(Object(details.data), 'problems')
  // A checker that names no record has only its output.
  return Array.isArray(problems) && problems.length > 0 ? problems : [{ message }]
}

/** Returns the outcome for a node that failed, with the step and its output. */
export function failedOn({ node, refusal }: NodeRefusal): NodeOutcome {
  const nodes: unknown = Reflect.get(Object(refusal.details.data), 'nodes')
  const first = Object(Array.isArray(nodes) ? nodes[0] : undefined)
  const [why, output] = [textOf(Reflect.get(first, 'step')), textOf(Reflect.get(first, 'output'))]
  return { nodeId: node.id, ok: false, state: 'failed', why: why === '' ? refusal.message : why, output }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Returns the refusal of an apply that some node did not carry out. */
export function notEverywhere(where: string, why: string, nodes: readonly NodeOutcome[]): ApiError {
  const inDoubt = nodes.filter(({ state }) => state === 'unknown').map(({ nodeId }) => nodeId)
  const undone =
    inDoubt.length === 0 ? 'was reverted' : `was reverted on the answering nodes; ${inDoubt.join(', ')} did not answer`
  return new ApiError('APPLY_PARTIAL', `The apply failed on ${where} and ${undone}: ${why}`, { data: { nodes } })
}

/** Returns the refusal of an apply that is undecided. */
export function undecided(why: string, nodes: readonly NodeOutcome[]): ApiError {
  const message = `Too few nodes of the cluster answer, so it is unknown whether the apply stays (${why}): each node stays as it is until they do. GET /services/apply shows the result`
  return new ApiError('NO_QUORUM', message, { data: { nodes } })
}
