import type { ConfigStore, Deadline, RevisionHeader } from '../../storage/config/config-store.ts'
import type { ApplyState } from '../context/applying.ts'
import type { MachineClock } from '../base/clock.ts'

/** An apply, or the taking back of one, that is under way. */
export type Begun = Pick<RevisionHeader, 'by' | 'comment' | 'at'>

/** Returns the apply under way, else the one that waits for confirmation, else the last one. */
export function applyState(
  store: Pick<ConfigStore, 'revision' | 'revisionHeaders' | 'unconfirmed' | 'underWay'>,
  clock: Pick<MachineClock, 'uptime_ms' | 'bootId'>,
  begun: Begun | undefined,
  deadline: Deadline | undefined = store.unconfirmed()?.deadline,
): ApplyState {
  const { revision } = store
  const asked = begun ?? store.underWay()?.asked?.header
  if (asked !== undefined) {
    const { by, comment, at: startedAt } = asked
    return { state: 'applying', revision: revision + 1, by, comment, startedAt, ...NOT_WAITING }
  }
  const [last] = store.revisionHeaders(1)
  const made = { revision, by: last?.by ?? null, comment: last?.comment ?? '', startedAt: last?.at ?? null }
  const unconfirmed = store.unconfirmed()
  if (unconfirmed === undefined) return { state: 'idle', ...made, ...NOT_WAITING }
  return { state: 'waiting', ...made, confirmBy: unconfirmed.confirmBy, secondsLeft: secondsLeft(deadline, clock) }
}

/** Returns the seconds until an apply is taken back; 0 after a reboot, which ends the waiting. */
export function secondsLeft(deadline: Deadline | undefined, clock: Pick<MachineClock, 'uptime_ms' | 'bootId'>): number {
  const left_ms = deadline?.bootId === clock.bootId ? deadline.uptime_ms - clock.uptime_ms() : 0
  return Math.max(0, Math.ceil(left_ms / 1000))
}

const NOT_WAITING = { confirmBy: null, secondsLeft: null } as const
