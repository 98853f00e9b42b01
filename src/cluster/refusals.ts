import { LostRaceError } from '../../storage/config/entry.ts'
import { ApiError } from '../base/errors.ts'

/** Another node was faster: the edit is decided again, and this is the answer when it happens too often. */
export const lostRace = () =>
  new LostRaceError(
    new ApiError('TOO_MANY_AT_ONCE', 'Other nodes made changes at the same time; repeat the request', {
      headers: { 'Retry-After': '1' },
    }),
  )

/** The refusal of a log that has halted or is closed. */
export const refused = (why = 'it is being closed', known = 'Nothing was changed') =>
  new ApiError('NO_QUORUM', `${known}. This node cannot take part in changes: ${why}`)

/**
 * `isOpen`: the change may have been written, or may still be. `isFull`: nodes answer, but have no space left. `next`:
 * what the caller can do.
 */
export function noQuorum(isOpen: boolean, isFull = false, next = 'GET /cluster shows what is missing'): ApiError {
  const known = isOpen
    ? 'It is unknown whether the change was written: read the record before you repeat the request'
    : 'Nothing was changed'
  const [why, what] = isFull
    ? ['The log of the cluster has no space left', 'space is being freed: try again']
    : ['Too few nodes of the cluster answer', next]
  // Clients repeat a request with this header on their own: never one that may have been executed.
  const details = isOpen ? {} : { headers: { 'Retry-After': '5' } }
  return new ApiError('NO_QUORUM', `${why}. ${known}. Services keep running, reads are possible; ${what}`, details)
}

/** A part of the log is missing: the numbering shows what a watch has lost. */
export class HoleError extends Error {}
