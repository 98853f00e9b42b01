import { ApiError } from '../base/errors.ts'

/**
 * Refuses unless the header names the revision of the record, or is `*`. A record that is not there has no revision,
 * and nothing matches it, not even `*`.
 */
export function refuseMismatch(ifMatch: string, revision: number | undefined): void {
  const tags = new Set(ifMatch.split(',').map((tag) => tag.trim()))
  const current = revision === undefined ? null : `"${revision}"`
  if (current !== null && (tags.has('*') || tags.has(current))) return
  const message =
    current === null
      ? 'Nothing is stored here yet, so no If-Match fits; repeat without it'
      : 'The record has changed since you read it; read it again and repeat'
  throw new ApiError('REVISION_MISMATCH', message, { data: { current, sent: ifMatch } })
}
