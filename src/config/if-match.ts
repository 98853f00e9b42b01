import { ApiError } from '../base/errors.ts'

/** Refuses unless the header names the revision of the record, or is `*`. */
export function refuseMismatch(ifMatch: string, revision: number): void {
  const tags = new Set(ifMatch.split(',').map((tag) => tag.trim()))
  const current = `"${revision}"`
  if (tags.has('*') || tags.has(current)) return
  throw new ApiError('REVISION_MISMATCH', 'The record has changed since you read it; read it again and repeat', {
    data: { current, sent: ifMatch },
  })
}
