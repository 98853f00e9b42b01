import type { Static, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'

// Compiled on demand: a daemon has hundreds of schemas, most of which are unused on most days.
const validators = new WeakMap<TSchema, Validator>()

/** Returns the validator of a schema, compiled on first use, which takes 1 to 3 ms. */
export function validatorOf<T extends TSchema>(schema: T): Validator<{}, T> {
  const known = validators.get(schema)
  // Sound: it was compiled from this very schema.
  if (known !== undefined) return known as unknown as Validator<{}, T>
  const validator = Compile(schema)
  validators.set(schema, validator)
  return validator
}

/** Returns a function that checks a foreign value: it returns the value if it matches the schema, else undefined. */
export const reader =
  <T extends TSchema>(schema: T) =>
  (value: unknown): Static<T> | undefined =>
    validatorOf(schema).Check(value) ? value : undefined
