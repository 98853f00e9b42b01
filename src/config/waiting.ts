import type { RevisionHeader, Unconfirmed } from '../../storage/config/config-store.ts'
import type { MachineClock } from '../clock.ts'
import { ApiError } from '../errors.ts'

/** While one apply may still be taken back, nothing is built on it. */
export function refuseWaiting(unconfirmed: Unconfirmed | undefined, clock: Pick<MachineClock, 'now_ms'>): void {
  if (unconfirmed === undefined) return
  const left_s = Math.max(1, Math.ceil((Date.parse(unconfirmed.confirmBy) - clock.now_ms()) / 1000))
  const message = `Revision ${unconfirmed.revision} waits for its confirmation until ${unconfirmed.confirmBy}: PUT /services/apply/confirm, or wait until it is taken back`
  throw new ApiError('APPLY_IN_PROGRESS', message, { headers: { 'Retry-After': String(left_s) } })
}

/** What waits for its confirmation from now on. */
export function waiting({ applyId, revision, by }: RevisionHeader, within_s: number, clock: MachineClock): Unconfirmed {
  const confirmBy = new Date(clock.now_ms() + within_s * 1000).toISOString()
  return {
    applyId,
    revision,
    by,
    confirmBy,
    deadline: { bootId: clock.bootId, uptime_ms: clock.uptime_ms() + within_s * 1000 },
  }
}
