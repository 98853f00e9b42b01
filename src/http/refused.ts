import { ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Answer, failure } from './envelope.ts'
import { noRoom, noRoomReason } from './no-room.ts'

/** The answer to what was thrown: a refusal is told as it is, a defect only to the log. */
export function refused(error: unknown, requestId: string, log: Log): Answer {
  if (error instanceof ApiError) return failure(error)
  const reason = noRoomReason(error)
  if (reason !== undefined) {
    log.warn('no room', { requestId, reason })
    return failure(new ApiError('INTERNAL', noRoom(reason)))
  }
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error)
  log.error('defect', { requestId, detail })
  return failure(new ApiError('INTERNAL', `Something is wrong with the daemon; its log explains ${requestId}`))
}
