import { ApiError, type ErrorCode } from '../errors.ts'

/** A problem that a rule of the specification finds with one field; `code` is of the error table, or says more about INVALID_BODY. */
export interface FieldProblem {
  readonly field: string
  readonly code: ErrorCode
  readonly message: string
}

/** Refuses a body for all its problems at once, under the code of the first; does nothing without any. */
export function refuseFields(problems: readonly FieldProblem[]): void {
  const [first] = problems
  if (first === undefined) return
  const list = problems.map(({ field, message }) => `${field} ${message}`).join('; ')
  throw new ApiError(
    first.code,
    `The body has ${problems.length === 1 ? '1 problem' : `${problems.length} problems`}: ${list}`,
    {
      errors: problems,
    },
  )
}
