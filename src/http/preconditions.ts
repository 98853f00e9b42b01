import type { Endpoint } from '../api/endpoint.ts'
import { ApiError } from '../base/errors.ts'

/**
 * Refuses If-Match where nothing can be compared with it: the caller must not believe that its change was conditional.
 */
export function refuseUncompared({ method, path, comparesRevision }: Endpoint, ifMatch: string): void {
  if (ifMatch === '' || comparesRevision) return
  const message = `${method} ${path} changes no record with an ETag, so If-Match cannot match; repeat without it`
  throw new ApiError('REVISION_MISMATCH', message, { data: { current: null, sent: ifMatch } })
}
