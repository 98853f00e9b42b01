import type { ConfigStore, Deadline, RevisionHeader, Unconfirmed } from '../../storage/config/config-store.ts'
import type { MachineClock } from '../base/clock.ts'
import { ApiError } from '../base/errors.ts'
import { secondsLeft } from './apply-state.ts'

/** Refuses a new apply while an earlier one may still be taken back. */
export function refuseWaiting(
  { revision, confirmBy }: Unconfirmed,
  deadline: Deadline,
  clock: Pick<MachineClock, 'uptime_ms' | 'bootId'>,
): never {
  const left_s = secondsLeft(deadline, clock)
  const message =
    left_s === 0
      ? `Revision ${revision} was not confirmed by ${confirmBy} and is being reverted; if too few nodes answer, this waits for them: GET /cluster shows which are missing`
      : `Revision ${revision} waits for confirmation until ${confirmBy}: PUT /services/apply/confirm keeps it, PUT /services/apply/revert reverts it immediately`
  throw new ApiError('APPLY_IN_PROGRESS', message, { headers: { 'Retry-After': String(Math.max(1, left_s)) } })
}

/** Returns the record of an apply that waits for confirmation from now on; `nodeId` is set in a cluster. */
export function waiting(
  { applyId, revision, by }: RevisionHeader,
  within_s: number,
  clock: MachineClock,
  nodeId?: string,
): Unconfirmed {
  const confirmBy = new Date(clock.now_ms() + within_s * 1000).toISOString()
  const among = nodeId === undefined ? {} : { among: { nodeId, within_s } }
  return { applyId, revision, by, confirmBy, deadline: deadlineIn(within_s, clock), ...among }
}

export const deadlineIn = (within_s: number, clock: Pick<MachineClock, 'bootId' | 'uptime_ms'>): Deadline => ({
  bootId: clock.bootId,
  uptime_ms: clock.uptime_ms() + within_s * 1000,
})

/** Name under which a node stores its own deadline for an apply that another node led. */
const OWN_DEADLINE = 'deadline'

/** Returns when this node takes the apply back; undefined until `arm` has set that. */
export function deadlineOf(
  store: Pick<ConfigStore, 'getMeta'>,
  nodeId: string,
  { applyId, deadline, among }: Unconfirmed,
): Deadline | undefined {
  if (among === undefined || among.nodeId === nodeId) return deadline
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `arm` only
  const own = store.getMeta(OWN_DEADLINE) as (Deadline & { readonly applyId: string }) | undefined
  return own?.applyId === applyId ? own : undefined
}

/** Sets this node's own deadline, by the clock of this machine, if another node led the apply. */
export async function arm(
  store: Pick<ConfigStore, 'getMeta' | 'putMeta' | 'unconfirmed'>,
  nodeId: string,
  clock: Pick<MachineClock, 'bootId' | 'uptime_ms'>,
): Promise<void> {
  const unconfirmed = store.unconfirmed()
  if (unconfirmed?.among === undefined || deadlineOf(store, nodeId, unconfirmed) !== undefined) return
  const { applyId, among } = unconfirmed
  await store.putMeta(OWN_DEADLINE, { applyId, ...deadlineIn(among.within_s, clock) })
}
