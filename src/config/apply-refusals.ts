import type { Driver, PlanResult } from '../drivers/driver.ts'
import type { Problem } from '../model/problem.ts'
import { ApiError, type FieldError } from '../base/errors.ts'
import type { ConfigView } from '../model/sections.ts'

export type PlanFailure = Extract<PlanResult, { ok: false }>

/** Returns the refusal for a failed plan: the checker's verdict, or the step that failed and was undone. */
export function planRefusal(
  failure: PlanFailure,
  desired: ConfigView,
  { drivers, nodeId }: { readonly drivers: readonly Driver[]; readonly nodeId: string },
  title = titleOf(failure.undone),
): ApiError {
  const blamed = (): readonly Problem[] => drivers.flatMap((driver) => driver.diagnose(failure.output, desired))
  if (failure.missing) return new ApiError('NOT_SUPPORTED', failure.output)
  if (failure.kind === 'check') return configInvalid(blamed(), failure.output)
  const errors = fieldErrors(failure.kind === 'unit' ? blamed().filter((problem) => problem.id !== undefined) : [])
  return applyFailed({ why: failure.why, output: failure.output, errors, nodeId, title })
}

/** Says what happened to the machine, so that the reader knows whether to look at it. */
export function titleOf(isUndone: boolean): string {
  return isUndone
    ? 'The apply failed and was undone'
    : 'The apply failed and could not be undone, so the machine differs from the running configuration; the log of the node has the reason'
}

export function applyFailed({
  why,
  output,
  errors = [],
  nodeId,
  title,
}: {
  readonly why: string
  readonly output: string
  readonly errors?: readonly FieldError[]
  readonly nodeId: string
  readonly title: string
}): ApiError {
  return new ApiError('APPLY_PARTIAL', `${title}: ${why}`, {
    ...(errors.length === 0 ? {} : { errors }),
    data: { nodes: [{ nodeId, ok: false, step: why, output }] },
  })
}

export function configInvalid(problems: readonly Problem[], output: string | undefined): ApiError {
  const errors = fieldErrors(problems)
  const first = problems[0]?.message ?? 'the checker gave no reason'
  const data = { problems, ...(output === undefined ? {} : { output }) }
  return new ApiError('CONFIG_INVALID', `The configuration cannot be applied: ${first}`, { errors, data })
}

function fieldErrors(problems: readonly Problem[]): readonly FieldError[] {
  return problems.map((problem) => ({
    field: [problem.section, problem.id, problem.field].filter((part) => part !== undefined).join('.'),
    code: 'CONFIG_INVALID',
    message: problem.message,
  }))
}
