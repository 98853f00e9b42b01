import type { ComponentChildren } from 'preact'
import type { FieldError } from '../core/api.ts'

const LISTED = 8
/** Begins a message of the API that goes on with the errors. */
const COUNTED = /^The \w+ has \d+ problems:/

/** Problems that concern no field of the form. */
export function FormProblems({
  error,
  errors,
  children,
}: {
  readonly error: string | undefined
  readonly errors: readonly FieldError[]
  readonly children?: ComponentChildren
}) {
  if (error === undefined) return null
  const before = errors.length > 1 && errors.length <= LISTED ? COUNTED.exec(error)?.[0] : undefined
  return (
    <div class="problem block" role="alert">
      <p>{before ?? error}</p>
      {errors.length < 2 ? null : (
        <ul>
          {errors.slice(0, LISTED).map(({ field, message }) => (
            <li key={`${field} ${message}`}>{`${field}: ${message}`}</li>
          ))}
        </ul>
      )}
      {children}
    </div>
  )
}
