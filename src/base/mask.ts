import type { FieldProblem } from './errors.ts'

/** How a stored secret reads; sent, it keeps the stored one. */
export const MASK = '**' as const

/** A text of programs or servers, as people may see it: they repeat what they were given. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  // Longer ones first: a secret may be part of another one.
  const inOrder = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length)
  return inOrder.reduce((left, secret) => left.replaceAll(secret, MASK), text)
}

/** What the mask means where there is nothing to keep. */
export const unstored = (field: string): FieldProblem => ({
  field,
  code: 'PASSWORD_NOT_STORED',
  message: 'cannot be kept, because none is stored',
})
