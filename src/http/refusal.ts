import { DISK_REFUSALS } from '../../storage/room.ts'
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

/** Codes that only a disk gives. A socket that cannot be opened, for instance, has others. */
const OF_DISKS = new Set<unknown>(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])

const FREE = 'free space on the disk of the state folder, for instance with DELETE /backup/uploads'
const RAISE = 'raise the limit (ulimit, or Limit… in the unit of the daemon)'
const CLOSE = 'end what holds them, or raise the limit of the system (sysctl fs.file-max)'
const ADVICE: ReadonlyMap<string | undefined, string> = new Map(
  Object.entries({ ENOSPC: FREE, EDQUOT: FREE, EFBIG: RAISE, EMFILE: RAISE, ENFILE: CLOSE }).map(([code, advice]) => [
    DISK_REFUSALS[code],
    `${advice}, and repeat the request`,
  ]),
)
const REPAIR = 'repair the disk of the state folder, and repeat the request when it is writable'

/** Says what happened, and what to do, if nothing can be written. */
export const noRoom = (reason: string): string =>
  `Nothing was changed, because ${reason}: ${ADVICE.get(reason) ?? REPAIR}`

/** Returns why there was no room to write; undefined for another error. */
export function noRoomReason(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'NoRoomError') return error.message
  return 'code' in error && OF_DISKS.has(error.code) ? DISK_REFUSALS[String(error.code)] : undefined
}
