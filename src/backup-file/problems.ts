import type { TSchema } from 'typebox'
import type { FieldError } from '../base/errors.ts'
import { longListProblems } from '../base/long-lists.ts'
import { validatorOf } from '../base/validator.ts'

/** Maximum number of reported problems: the first hundred show what kind of file it is. */
const PROBLEMS_MAX = 100

/** Collects problems, up to the maximum. */
export class Problems {
  readonly list: FieldError[] = []

  get isFull(): boolean {
    return this.list.length >= PROBLEMS_MAX
  }
  add(field: string, code: string, message: string): void {
    if (!this.isFull) this.list.push({ field, code, message })
  }
  /** Adds a problem for each place that does not match the schema. */
  fit(schema: TSchema, field: string, value: unknown): boolean {
    const lists = longListProblems(schema, value, field)
    for (const problem of lists) this.add(problem.field, 'INVALID', problem.message)
    if (lists.length > 0) return false
    const validator = validatorOf(schema)
    if (validator.Check(value)) return true
    // Each branch of a union reports the same place.
    const found = new Map<string, string>()
    for (const { instancePath, message } of validator.Errors(value)) {
      const path = [field, ...instancePath.split('/').slice(1)].filter((part) => part !== '').join('.')
      if (!found.has(path)) found.set(path, message)
    }
    for (const [path, message] of found) this.add(path, 'INVALID', message)
    if (found.size === 0) this.add(field, 'INVALID', 'is invalid')
    return false
  }
}
