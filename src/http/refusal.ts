import { ApiError } from '../base/errors.ts'
import { type Log, logDefect } from '../base/log.ts'
import { type Answer, failure } from './envelope.ts'

/** The answer to what was thrown: a refusal is told as it is, a defect only to the log. */
export function answerRefusal(error: unknown, requestId: string, log: Log): Answer {
  if (error instanceof ApiError) return failure(error)
  const reason = noRoomReason(error)
  if (reason !== undefined) {
    log.warn('no room', { requestId, reason })
    return failure(new ApiError('INTERNAL', noRoom(reason)))
  }
  logDefect(log, error, { requestId })
  return failure(new ApiError('INTERNAL', `Something is wrong with the daemon; its log explains ${requestId}`))
}

const CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

/** What to say, and what to do, when nothing can be written. */
export const noRoom = (reason: string): string =>
  `Nothing was changed, because ${reason}: make room on the disk of the state folder, for instance with DELETE /backup/uploads, and repeat it`

/** Why there was no room for what was to be written; undefined when it is another error. */
export function noRoomReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'NoRoomError') return error.message
  return 'code' in error && CODES.has(error.code) ? 'the disk is full' : undefined
}
