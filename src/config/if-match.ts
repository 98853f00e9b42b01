import { ApiError } from '../base/errors.ts'

/** Refuses unless the header contains the tag of the record, or is `*`. */
export function refuseMismatch(ifMatch: string, tag: string): void {
  const tags = new Set(ifMatch.split(',').map((one) => one.trim()))
  const current = `"${tag}"`
  if (tags.has('*') || tags.has(current)) return
  throw new ApiError('REVISION_MISMATCH', 'The record has changed since you read it; read it again and repeat', {
    data: { current, sent: ifMatch },
  })
}
