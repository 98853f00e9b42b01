import type { TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import type { FieldError } from '../errors.ts'

/** More problems than this are not told: whoever reads the first hundred knows what kind of file it is. */
const PROBLEMS_MAX = 100

/** Collects what is wrong, up to a number. */
export class Problems {
  readonly list: FieldError[] = []

  get isFull(): boolean {
    return this.list.length >= PROBLEMS_MAX
  }
  add(field: string, code: string, message: string): void {
    if (!this.isFull) this.list.push({ field, code, message })
  }
  /** One entry for each place that does not fit. */
  fit(schema: TSchema, field: string, value: unknown): boolean {
    const validator = validatorOf(schema)
    if (validator.Check(value)) return true
    const found = validator.Errors(value)
    for (const { instancePath, message } of found) {
      const path = instancePath.split('/').slice(1)
      this.add([field, ...path].filter((part) => part !== '').join('.'), 'INVALID', message)
    }
    if (found.length === 0) this.add(field, 'INVALID', 'does not fit')
    return false
  }
}

const validators = new Map<TSchema, Validator>()
function validatorOf(schema: TSchema): Validator {
  let validator = validators.get(schema)
  if (validator === undefined) validators.set(schema, (validator = Compile(schema)))
  return validator
}
