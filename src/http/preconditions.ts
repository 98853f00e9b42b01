import type { Endpoint } from '../api/endpoint.ts'
import { ApiError } from '../base/errors.ts'

/** Nobody may believe that a change was made under a condition which nothing could be compared with. */
export function refuseUncompared({ method, path, comparesRevision }: Endpoint, ifMatch: string): void {
  if (ifMatch === '' || comparesRevision) return
  const message = `${method} ${path} changes no record with an ETag, so no If-Match fits; repeat without it`
  throw new ApiError('REVISION_MISMATCH', message, { data: { current: null, sent: ifMatch } })
}
