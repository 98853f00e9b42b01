import type { Static, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'

// A daemon has hundreds of schemas, and most of them are not asked for on most days.
const validators = new WeakMap<TSchema, Validator>()

/** The validator of a schema, compiled when it is asked for the first time, which takes 1 to 3 ms. */
export function validatorOf<T extends TSchema>(schema: T): Validator<{}, T> {
  const known = validators.get(schema)
  // Sound: it was compiled from this very schema.
  if (known !== undefined) return known as unknown as Validator<{}, T>
  const validator = Compile(schema)
  validators.set(schema, validator)
  return validator
}

/** Reads a value from elsewhere: as the schema describes it, or undefined. */
export const reader =
  <T extends TSchema>(schema: T) =>
  (value: unknown): Static<T> | undefined =>
    validatorOf(schema).Check(value) ? value : undefined
