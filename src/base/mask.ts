import type { FieldProblem } from './errors.ts'

/** How a stored secret reads; sent, it keeps the stored one. */
export const MASK = '**' as const

/** What the mask means where there is nothing to keep. */
export const unstored = (field: string): FieldProblem => ({
  field,
  code: 'PASSWORD_NOT_STORED',
  message: 'cannot be kept, because none is stored',
})
