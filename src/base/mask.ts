import type { FieldProblem } from './errors.ts'

/** The form in which a stored secret is read; sending it keeps the stored one. */
export const MASK = '**' as const

/** Removes secrets from a text of a program or server before users see it: such texts repeat their input. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  // Longer ones first: a secret may be part of another one.
  const inOrder = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length)
  return inOrder.reduce((left, secret) => left.replaceAll(secret, MASK), text)
}

/** Returns the problem with a mask that is sent although there is nothing to keep. */
export const unstored = (field: string): FieldProblem => ({
  field,
  code: 'PASSWORD_NOT_STORED',
  message: 'cannot be kept, because none is stored',
})
