import { ApiError } from '../base/errors.ts'
import { type Log, logDefect } from '../base/log.ts'
import { type Answer, failure } from './envelope.ts'

/** Returns the answer to an error: a refusal is sent as it is, the details of a defect only go to the log. */
export function answerRefusal(error: unknown, requestId: string, log: Log): Answer {
  if (error instanceof ApiError) return failure(error)
  const reason = noRoomReason(error)
  if (reason !== undefined) {
    log.warn('no space', { requestId, reason })
    return failure(new ApiError('INTERNAL', noRoom(reason)))
  }
  if (error instanceof Error && error.name === 'StoreFailedError') {
    log.warn('the store has failed', { requestId })
    return failure(new ApiError('INTERNAL', error.message))
  }
  logDefect(log, error, { requestId })
  return failure(new ApiError('INTERNAL', `The daemon has a defect; see its log for ${requestId}`))
}

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', 'the quota of the disk is used up'],
  ['EROFS', 'the disk is read-only'],
  ['EIO', 'the disk fails (EIO)'],
])
/** Reasons that a user of the API can do something about. */
const ROOM = /full|quota/

/** Says what happened, and what to do, if nothing can be written. */
export function noRoom(reason: string): string {
  const advice = ROOM.test(reason)
    ? 'free space on the disk of the state folder, for instance with DELETE /backup/uploads, and repeat the request'
    : 'repair the disk of the state folder, and repeat the request when it is writable'
  return `Nothing was changed, because ${reason}: ${advice}`
}

/** Returns why there was no room to write; undefined for another error. */
export function noRoomReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'NoRoomError') return error.message
  return 'code' in error ? REASONS.get(error.code) : undefined
}
