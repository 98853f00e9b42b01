import type { ComponentChildren } from 'preact'
import type { FieldError } from '../core/api.ts'

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
  return (
    <div class="problem block" role="alert">
      <p>{error}</p>
      {errors.length < 2 ? null : (
        <ul>
          {errors.slice(0, 8).map(({ field, message }) => (
            <li key={`${field} ${message}`}>{`${field}: ${message}`}</li>
          ))}
        </ul>
      )}
      {children}
    </div>
  )
}
